<?php

// The old replay: takes from the head of dead, then adds to the pool; a crash in between loses the job. See README.md.

declare(strict_types=1);

require __DIR__ . '/common.php';

$options = opts($argv, ['redis' => '127.0.0.1:6379', 'topic' => 't', 'limit' => 10]);
$redis = redis_open($options['redis']);
for ($i = 0; $i < $options['limit']; $i++) {
    $raw = $redis->lPop("delay:dead:{$options['topic']}");
    if ($raw === false) { // the deployed script compared with null and never stopped
        break;
    }
    $job = json_decode($raw, true)['job'];
    $job['retry'] = 0;
    $job['replayed_at'] = date('Y-m-d H:i:s');
    $redis->zAdd("delay:pool:{$options['topic']}", now_ms(), json_encode($job, JSON_UNESCAPED_UNICODE));
    echo "replayed uuid={$job['uuid']}\n";
}
