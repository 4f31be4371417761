<?php

declare(strict_types=1);

namespace app\sidecar;

use app\job\LeavesTraces;
use think\Container;

/**
 * The tests' topics.
 */
final class Traces
{
    public static function guarded(array $job): void
    {
        Runner::run(LeavesTraces::class, $job);
    }

    /** Without the runner, to see that there is something to put back. */
    public static function unguarded(array $job): void
    {
        Container::getInstance()->make(LeavesTraces::class)->handle($job);
    }
}
