<?php

declare(strict_types=1);

namespace App\Sidecar;

use App\Jobs\AsksItsQueue;
use App\Jobs\LeavesTraces;
use Illuminate\Container\Container;
use Illuminate\Contracts\Bus\Dispatcher;

/**
 * The tests' topics.
 */
final class Traces
{
    public static function guarded(bool $open = false, bool $behind = false): void
    {
        Runner::run(new LeavesTraces($open, $behind));
    }

    /** Without the runner, to see that there is something to put back. */
    public static function unguarded(bool $open = false, bool $behind = false): void
    {
        Container::getInstance()->make(Dispatcher::class)->dispatchNow(new LeavesTraces($open, $behind));
    }

    public static function asks(array $job): void
    {
        Runner::run(new AsksItsQueue($job['what']));
    }
}
