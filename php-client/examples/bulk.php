<?php

// Many jobs in few round trips, and what to do when Redis goes away in the middle.

declare(strict_types=1);

require __DIR__ . '/../autoload.php'; // with Composer: vendor/autoload.php

use Sidecar\Producer;
use Sidecar\UnableToEnqueue;

$producer = Producer::to(\getenv('REDIS_URL') ?: 'redis://127.0.0.1:6379');

$orders = \array_map(static function (int $id): array {
    return ['order_id' => $id];
}, \range(1, 1000));

try {
    // two scripts of 500 jobs
    $uuids = $producer->laterMany('order_timeout', $orders, 30 * 60);

    // jobs of all kinds go out together when the function returns
    $more = $producer->bulk(static function (Producer $producer): void {
        $producer->later('order_timeout', ['order_id' => 1001], 60);
        $producer->push('queue:prod:send_sms', ['payload' => ['phone' => '13800000000']]);
    });
    echo \count($uuids) + \count($more), " enqueued\n";
} catch (UnableToEnqueue $failure) {
    echo \count($failure->enqueued()), ' enqueued, ', \count($failure->lost()), " left\n";
    foreach ($failure->lost() as $job) {
        \error_log($job['uuid']); // its text is $job['text']
    }
}
