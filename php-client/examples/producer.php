<?php

// Writes jobs from a web request: with delays, at times, and into lists.

declare(strict_types=1);

require __DIR__ . '/../autoload.php'; // with Composer: vendor/autoload.php

use Sidecar\Producer;

$producer = Producer::to(\getenv('REDIS_URL') ?: 'redis://127.0.0.1:6379', [
    'lists' => ['queue:prod:send_sms' => ['shards' => 8]],
]);

// The order is closed in 30 minutes by Redis' clock, whatever this machine's says.
$uuid = $producer->later('order_timeout', ['order_id' => 4567, 'note' => '未付款'], 30 * 60);

// The job brings its name: to write it twice is to write it once.
$producer->at('reminder', ['uuid' => 'reminder-4567', 'order_id' => 4567], new \DateTime('tomorrow 09:00'));

// A job of a list. All of one order go to the same shard, so they keep their order.
$jobId = $producer->push('queue:prod:send_sms', ['payload' => ['phone' => '13800000000']], 'order-4567');

echo "$uuid\n$jobId\n";
