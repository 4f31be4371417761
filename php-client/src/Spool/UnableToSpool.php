<?php

declare(strict_types=1);

namespace Sidecar\Spool;

use Sidecar\SidecarException;

/**
 * The job is not in the spool: whoever called add() still has it in hand.
 */
final class UnableToSpool extends \RuntimeException implements SidecarException
{
    /** The database refused the row. */
    public static function job(SpooledJob $job, \Throwable $previous): self
    {
        return new self(
            \sprintf('store job %s for %s: %s', $job->uuid(), $job->key(), $previous->getMessage()),
            0,
            $previous
        );
    }

    /** The spool's tables could be neither found nor made. */
    public static function open(string $where, string $why, ?\Throwable $previous = null): self
    {
        return new self(\sprintf('open spool %s: %s', $where, $why), 0, $previous);
    }
}
