<?php
// produce.php SOCKET TOPIC COUNT SPREAD_MS FAIL_EVERY SLEEP_MS: writes jobs into the topic's pool as PHP shops do, due
// within the next SPREAD_MS, one in FAIL_EVERY failing once. Prints each text on a line of its own.
declare(strict_types=1);

[, $socket, $topic, $count, $spread, $failEvery, $sleep] = $argv;
$redis = new Redis();
$redis->connect($socket);
[$s, $us] = $redis->time();
$now = (int) $s * 1000 + intdiv((int) $us, 1000);
for ($i = 0; $i < (int) $count; $i++) {
    $job = ['uuid' => sprintf('%s-%06d', $topic, $i), 'type' => 'order_timeout', 'order_id' => 100000 + $i, 'retry' => 0,
        'note' => '超时关单 / 订单', 'amount' => '99.00', 'tags' => [], 'sleep_ms' => (int) $sleep];
    if ((int) $failEvery > 0 && $i % (int) $failEvery === 0) {
        $job['fail_once'] = true;
    }
    $text = json_encode($job, JSON_UNESCAPED_UNICODE);
    if ($i % 100 === 0) {
        $redis->multi(Redis::PIPELINE);
    }
    $redis->zAdd("delay:pool:$topic", $now + ((int) $spread > 0 ? random_int(0, (int) $spread) : 0), $text);
    if ($i % 100 === 99 || $i === (int) $count - 1) {
        $redis->exec();
    }
    echo $text, "\n";
}
