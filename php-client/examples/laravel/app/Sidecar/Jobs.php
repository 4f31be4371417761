<?php

declare(strict_types=1);

namespace App\Sidecar;

use App\Jobs\CloseOrder;

/**
 * One method a topic: out of the fields that Redis holds it makes the job that Laravel knows.
 */
final class Jobs
{
    public static function closeOrder(int $order_id): void
    {
        Runner::run(new CloseOrder($order_id));
    }
}
