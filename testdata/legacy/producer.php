<?php

// Writes jobs as the old producers do. See README.md.

declare(strict_types=1);

require __DIR__ . '/common.php';

$options = opts($argv, [
    'redis' => '127.0.0.1:6379', 'topic' => 't', 'kind' => 'delay', 'queue' => 'queue:prod:send_sms',
    'n' => 1000,
    'size' => 300,
    'due' => 'now',  // now | delay:MS | spread:MS | spread:FROM-TO
    'rate' => 0,     // jobs a second, 0 = as fast as it goes
    'pipeline' => 1, // more than 1: that many a pipeline
    'key' => '',     // write to this key instead (a staging key, to be renamed)
    'to' => 'pool',  // pool | ready (RPUSH straight to the ready list)
    'prefix' => '',  // of the uuids; default: random
]);

/** The range of delays that --due names, in ms. */
function due_range(string $due): array
{
    [$kind, $arg] = array_pad(explode(':', $due, 2), 2, '0');
    if ($kind !== 'spread') {
        return [(int) $arg, (int) $arg];
    }

    return strpos($arg, '-') === false ? [0, (int) $arg] : array_map('intval', explode('-', $arg));
}

function delay_job(string $prefix, int $i, int $now, int $due): array
{
    return [
        'uuid' => "$prefix-$i", 'type' => 'order_timeout', 'order_id' => 100000 + $i,
        'due' => $due, 'created_at' => $now, 'retry' => 0,
        'body' => ['user' => 4567, 'amount' => '99.00', 'note' => ''],
    ];
}

function list_job(string $prefix, int $i, int $now, int $due): array
{
    return [
        'job_id' => "$prefix-$i", 'type' => 'send_sms',
        'payload' => [
            'phone' => '13800000000', 'template_id' => 'sms_order_success',
            'params' => ['order_no' => "ORD$prefix$i", 'amount' => '99.00'],
        ],
        'retry_count' => 0, 'max_retry' => 3, 'created_at' => intdiv($now, 1000), 'due' => $due,
    ];
}

$redis = redis_open($options['redis']);
$isList = $options['kind'] === 'list';
$prefix = $options['prefix'] !== '' ? $options['prefix'] : bin2hex(random_bytes(4));
$key = $options['key'] ?: ($isList ? $options['queue'] : "delay:{$options['to']}:{$options['topic']}");
[$from, $to] = due_range($options['due']);
$n = $options['n'];
$chunk = $options['pipeline'];
$pad = null;
$json = '';
$start = microtime(true);
for ($i = 0; $i < $n; $i++) {
    if ($options['rate'] > 0) {
        usleep((int) max(0, ($start + $i / $options['rate'] - microtime(true)) * 1e6));
    }
    $now = now_ms();
    $due = $now + ($from === $to ? $from : random_int($from, $to));
    $job = $isList ? list_job($prefix, $i, $now, $due) : delay_job($prefix, $i, $now, $due);
    $pad = $pad ?? str_repeat('x', max(0, $options['size'] - strlen(json_encode($job)) - 10));
    $job['pad'] = $pad;
    $json = json_encode($job, JSON_UNESCAPED_UNICODE);
    if ($isList && $chunk <= 1) {
        $redis->multi();
        $redis->lPush($key, $json);
        $redis->lLen($key);
        $redis->exec();
        continue;
    }
    if ($chunk > 1 && $i % $chunk === 0) {
        $redis->multi(Redis::PIPELINE);
    }
    if ($isList) {
        $redis->lPush($key, $json);
    } elseif ($options['to'] === 'ready') {
        $redis->rPush($key, $json);
    } else {
        $redis->zAdd($key, $due, $json);
    }
    if ($chunk > 1 && ($i % $chunk === $chunk - 1 || $i === $n - 1)) {
        $redis->exec();
    }
}
$seconds = microtime(true) - $start;
printf("%d jobs of %d bytes in %.3f s = %.0f/s\n", $n, strlen($json), $seconds, $n / max($seconds, 1e-9));
