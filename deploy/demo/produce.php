<?php

// The producer: an ordinary phpredis script, as a web request or a cron job would do it.
// Usage: produce.php REDIS_SOCKET LEDGER. The ledger says what was sent, so that the end can be held against it.

declare(strict_types=1);

// topic, wish, how many, due in ms from .. to, where they must end
const ORDERS = [
    ['order_timeout', 'ok', 120, 0, 0, 'done'],
    ['order_timeout', 'ok', 104, 0, 3000, 'done'],
    ['order_timeout', 'defer', 8, 0, 0, 'done'],
    ['order_timeout', 'reject', 1, 0, 0, 'dead'],
    ['order_timeout', 'kill', 1, 500, 500, 'dead'],
    ['order_timeout', 'kill once', 1, 1000, 1000, 'done'],
    ['mail', 'fail once', 40, 0, 2000, 'done'],
    ['mail', 'fail', 24, 0, 1000, 'dead'],
];

function job(string $uuid, string $topic, string $wish, int $now): array
{
    $job = ['uuid' => $uuid, 'wish' => $wish, 'retry' => 0, 'created_at' => $now];
    if ($topic === 'mail') {
        return $job + ['to' => "$uuid@example.com", 'subject' => 'Ihre Bestellung / 您的订单 / 🛒'];
    }

    return $job + ['order_id' => random_int(1, PHP_INT_MAX), 'amount' => '99.00', 'open_at' => $now + 1500];
}

[, $socket, $ledgerFile] = $argv;
$redis = new Redis();
$redis->connect($socket);
$now = (int) (microtime(true) * 1000);
$ledger = [];

foreach (ORDERS as [$topic, $wish, $count, $from, $to, $end]) {
    for ($i = 1; $i <= $count; $i++) {
        $uuid = strtr($wish, ' ', '-') . '-' . bin2hex(random_bytes(4));
        $due = $now + random_int($from, $to);
        $text = json_encode(job($uuid, $topic, $wish, $now), JSON_UNESCAPED_UNICODE);
        $redis->zAdd("delay:pool:$topic", $due, $text);
        $ledger[$uuid] = ['topic' => $topic, 'wish' => $wish, 'due' => $due, 'end' => $end];
    }
}

$broken = "order 4711 \xE9 is no JSON";
$redis->zAdd('delay:pool:mail', $now, $broken);
$ledger[$broken] = ['topic' => 'mail', 'wish' => 'no JSON', 'due' => $now, 'end' => 'dead'];

file_put_contents($ledgerFile, serialize($ledger));
printf("%d jobs sent: most due now, the others within 3 seconds\n", count($ledger));
