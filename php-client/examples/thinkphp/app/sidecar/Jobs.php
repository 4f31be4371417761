<?php

declare(strict_types=1);

namespace app\sidecar;

use app\job\CloseOrder;

/**
 * One method a topic, with the class that does its work.
 */
final class Jobs
{
    public static function closeOrder(array $job): void
    {
        Runner::run(CloseOrder::class, $job);
    }
}
