<?php

declare(strict_types=1);

namespace Sidecar\Connection;

use Sidecar\SidecarException;

/**
 * Redis did not answer.
 */
final class ConnectionFailed extends \RuntimeException implements SidecarException
{
    /** @var bool */
    private $sent = false;

    /** There was no connection: nothing was written. */
    public static function to(string $server, string $why, ?\Throwable $previous = null): self
    {
        return new self(\sprintf('connect to %s: %s', $server, $why), 0, $previous);
    }

    /** Another request found out, not long ago: Redis was not asked. */
    public static function assumed(string $server): self
    {
        return new self(\sprintf('%s failed several times in a row and is not asked for a while', $server));
    }

    /** There was no answer: the write may have happened or not. */
    public static function during(string $write, \Throwable $previous): self
    {
        $failure = new self(\sprintf('%s: %s', $write, $previous->getMessage()), 0, $previous);
        $failure->sent = true;
        return $failure;
    }

    /** Whether Redis may have got the write. */
    public function wasSent(): bool
    {
        return $this->sent;
    }
}
