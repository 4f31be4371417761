<?php

// The old list consumer: one process, LPUSH in and BLPOP out (so last in, first out). See README.md.

declare(strict_types=1);
declare(ticks=1);

require __DIR__ . '/common.php';
require __DIR__ . '/handler.php';

$options = opts($argv, [
    'redis' => '127.0.0.1:6379', 'queue' => 'queue:prod:send_sms', 'dead' => 'queue:prod:dead_letter',
    'timeout' => 30, 'handler' => 'noop', 'log' => '', 'ack' => 0,
    'max-jobs' => 0, // 5000 in the field, where a supervisor starts the next one
]);
$redis = redis_open($options['redis']);
$handler = new Handler($options['handler'], $options['log']);

foreach ([SIGTERM => 'SIGTERM', SIGINT => 'SIGINT'] as $signal => $name) {
    pcntl_signal($signal, static function () use ($name): void {
        echo "Received $name, exiting gracefully...\n";
        exit(0); // also in the middle of a job: as deployed
    });
}

$count = 0;
while (true) {
    $popped = $redis->blPop([$options['queue']], $options['timeout']);
    if (!$popped) {
        pcntl_signal_dispatch();
        continue;
    }
    [, $json] = $popped;
    $job = json_decode($json, true);
    if (!$job || !isset($job['type'])) {
        fwrite(STDERR, 'Invalid job format: ' . substr($json, 0, 100) . "\n");
        continue;
    }
    $ack = 'ack:' . ($job['job_id'] ?? '');
    if ($options['ack'] && !$redis->set($ack, 'processing', ['nx', 'ex' => 3600])) {
        continue;
    }
    try {
        $handler($job);
        if ($options['ack']) {
            $redis->del($ack);
        }
    } catch (Exception $e) {
        $job['retry_count'] = ($job['retry_count'] ?? 0) + 1;
        if ($job['retry_count'] <= ($job['max_retry'] ?? 3)) {
            $redis->lPush($options['queue'], json_encode($job, JSON_UNESCAPED_UNICODE));
        } else {
            $redis->lPush($options['dead'], $json);
        }
    }
    if (++$count % 100 === 0) {
        gc_collect_cycles();
    }
    if ($count === $options['max-jobs']) {
        exit(0);
    }
    pcntl_signal_dispatch();
}
