<?php

declare(strict_types=1);

namespace app\controller;

use Sidecar\Producer;

class Order
{
    private $producer;

    public function __construct(Producer $producer)
    {
        $this->producer = $producer;
    }

    /** Closes the order in 15 minutes unless it is paid. */
    public function placed(int $orderId): string
    {
        return $this->producer->later('order_timeout', ['order_id' => $orderId], 900);
    }
}
