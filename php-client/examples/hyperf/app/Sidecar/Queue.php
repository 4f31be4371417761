<?php

declare(strict_types=1);

namespace App\Sidecar;

use Hyperf\Context\Context;
use Sidecar\Producer;

/**
 * Where the shop enqueues: a producer for each coroutine, for no two may read from one connection.
 */
final class Queue
{
    public static function producer(): Producer
    {
        return Context::getOrSet(Producer::class, static function (): Producer {
            return Producer::to(getenv('REDIS_URL') ?: 'redis://127.0.0.1:6379/0');
        });
    }

    /** Closes the order in 15 minutes unless it is paid. */
    public static function orderPlaced(int $orderId): string
    {
        return self::producer()->later('order_timeout', ['order_id' => $orderId], 900);
    }
}
