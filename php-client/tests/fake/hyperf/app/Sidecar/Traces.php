<?php

declare(strict_types=1);

namespace App\Sidecar;

use App\Job\LeavesTraces;

/**
 * The tests' topics.
 */
final class Traces
{
    public static function guarded(array $job): void
    {
        Runner::run(new LeavesTraces($job));
    }

    /** Without the runner, to see that there is something to put back. */
    public static function unguarded(array $job): void
    {
        (new LeavesTraces($job))->handle();
    }
}
