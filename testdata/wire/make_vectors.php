<?php

// Makes the vectors of this directory: what PHP itself, the old consumer and phpredis write.
//
//   php make_vectors.php                          writes every file
//   php make_vectors.php random|strings SEED N    prints one group of N fresh random vectors

declare(strict_types=1);

namespace Sidecar\Wire;

$classes = ['VectorFile', 'OldConsumer', 'RandomJobs', 'PrivateRedis', 'Cases', 'Vectors', 'Encodings', 'Producers'];
require __DIR__ . '/../../php-client/autoload.php';
foreach ($classes as $class) {
    require __DIR__ . "/php/$class.php";
}
ini_set('serialize_precision', '-1');
mb_internal_encoding('UTF-8');

if ($argc === 4 && in_array($argv[1], ['random', 'strings'], true)) {
    echo [Vectors::class, $argv[1]]((int) $argv[2], (int) $argv[3]);
    exit(0);
}

$server = new PrivateRedis(true);
try {
    $redis = $server->client();
    $encodings = new Encodings($redis);
    $groups = [
        'failures' => Vectors::failures(),
        'random' => Vectors::random(20240501, 300),
        'counts' => Vectors::counts(),
        'texts' => Vectors::texts(),
        'strings' => Vectors::strings(20240502, 200),
        'keys' => Vectors::keys($redis),
        'members' => Vectors::members($redis),
        'encodings' => $encodings->texts(),
        'values' => $encodings->values(),
        'dates' => Vectors::dates(),
        'producer' => Producers::vectors(),
    ];
} finally {
    $server->stop();
}
foreach ($groups as $name => $text) {
    file_put_contents(__DIR__ . "/$name.txt", $text);
}
