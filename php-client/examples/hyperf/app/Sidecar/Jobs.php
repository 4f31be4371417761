<?php

declare(strict_types=1);

namespace App\Sidecar;

use App\Job\CloseOrder;

/**
 * One method a topic: out of what Redis holds it makes the job that Hyperf knows.
 */
final class Jobs
{
    public static function closeOrder(array $job): void
    {
        Runner::run(new CloseOrder($job));
    }
}
