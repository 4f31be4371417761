<?php

// A client of the Redis at HOST PORT, as its owner has set it up: phpredis with the options of a form, for each text.
// Lines of FORM TEXT on stdin, the texts in base64.
//
//   php client.php HOST PORT push KEY     adds them to a list, at its tail
//   php client.php HOST PORT find KEY     prints 1 for each that it finds in a sorted set, by its own bytes; else 0

declare(strict_types=1);

namespace Sidecar\Wire;

require __DIR__ . '/php/Encodings.php';

[, $host, $port, $verb, $key] = $argv;
$redis = new \Redis();
$redis->connect($host, (int) $port);
$encodings = new Encodings($redis);
while (($line = fgets(STDIN)) !== false) {
    [$form, $text] = explode(' ', rtrim($line, "\n"));
    $encodings->choose($form);
    if ($verb === 'push') {
        $redis->rPush($key, base64_decode($text));
        continue;
    }
    echo $redis->zScore($key, base64_decode($text)) === false ? 0 : 1, "\n";
}
