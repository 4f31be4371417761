<?php

declare(strict_types=1);

namespace Sidecar\Connection;

use Sidecar\SidecarException;

/**
 * Redis refused the write (OOM, READONLY, LOADING, NOPERM, WRONGTYPE, …): it did not happen.
 */
final class ErrorReply extends \RuntimeException implements SidecarException
{
    public static function to(string $write, string $reply, ?\Throwable $previous = null): self
    {
        return new self(\sprintf('%s: %s', $write, \trim($reply)), 0, $previous);
    }

    /** Whether a client's exception with this text repeats what Redis said: replies begin with a code. */
    public static function is(string $text): bool
    {
        return \preg_match('/^-?[A-Z]{2,}[A-Z0-9]* /', $text) === 1;
    }

    /** Whether Redis does not know the script by its hash (yet). */
    public static function asksForScript(string $text): bool
    {
        return \strncmp($text, 'NOSCRIPT', 8) === 0;
    }
}
