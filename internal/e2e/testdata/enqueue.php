<?php

// Enqueues as a web shop does, one producer a request: enqueue.php REDIS_URL SPOOL_FILE NAME COUNT RATE. Writes a line an
// enqueue to standard output: the uuid, how long the request waited for it in microseconds, and what was thrown.
declare(strict_types=1);

require __DIR__ . '/../../../php-client/autoload.php';

use Sidecar\Producer;
use Sidecar\Spool\PdoSpool;

[, $redis, $file, $name, $count, $rate] = $argv;
$began = microtime(true);
for ($i = 0; $i < (int) $count; $i++) {
    $wait = $began + $i / $rate - microtime(true);
    if ($wait > 0) {
        usleep((int) ($wait * 1e6));
    }
    $uuid = "$name-$i";
    $asked = hrtime(true);
    try {
        $producer = Producer::to($redis, ['spool' => PdoSpool::sqlite($file)]);
        $producer->later('order_timeout', ['uuid' => $uuid, 'order_id' => $i], 3600);
        $thrown = '-';
    } catch (\Throwable $e) {
        $thrown = get_class($e) . ': ' . str_replace(["\n", ' '], '_', $e->getMessage());
    }
    printf("%s %d %s\n", $uuid, (hrtime(true) - $asked) / 1000, $thrown);
    unset($producer);
}
