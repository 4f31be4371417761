<?php

declare(strict_types=1);

namespace Sidecar\Spool;

use Sidecar\SidecarException;

/**
 * The job is not in the spool: whoever called add() still has it in hand.
 */
final class UnableToSpool extends \RuntimeException implements SidecarException
{
    /** The database could not be opened, or did not take the row. */
    public static function job(SpooledJob $job, \Throwable $previous): self
    {
        return new self(
            \sprintf('store job %s for %s: %s', $job->uuid(), $job->key(), $previous->getMessage()),
            0,
            $previous
        );
    }
}
