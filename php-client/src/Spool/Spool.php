<?php

declare(strict_types=1);

namespace Sidecar\Spool;

/**
 * Where a job waits while Redis is away.
 *
 * `sidecar spool drain` brings it in later: in the order of add(), exactly once.
 */
interface Spool
{
    /**
     * Stores the job for good before it returns.
     *
     * @throws UnableToSpool the job is not stored
     */
    public function add(SpooledJob $job): void;
}
