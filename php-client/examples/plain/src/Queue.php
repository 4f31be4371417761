<?php

declare(strict_types=1);

namespace App;

use Sidecar\Producer;

/**
 * Where the shop enqueues.
 */
final class Queue
{
    /** @var Producer|null */
    private static $producer;

    public static function producer(): Producer
    {
        self::$producer = self::$producer ?? Producer::to(getenv('REDIS_URL') ?: 'redis://127.0.0.1:6379/0');
        return self::$producer;
    }

    /** Closes the order in 15 minutes unless it is paid. */
    public static function orderPlaced(int $orderId): string
    {
        return self::producer()->later('order_timeout', ['order_id' => $orderId], 900);
    }
}
