<?php

// Stores jobs as a web request does while Redis is away: spool.php DSN KEY FIRST COUNT; "job NNNN" in a list, or
// {"uuid":"job-NNNN"} in a pool, due at once.
declare(strict_types=1);

require __DIR__ . '/../../../php-client/autoload.php';

use Sidecar\Spool\PdoSpool;
use Sidecar\Spool\SpooledJob;

[, $path, $key, $first, $count] = $argv;
$spool = PdoSpool::sqlite($path);
for ($i = (int) $first; $i < $first + $count; $i++) {
    $name = sprintf('job-%04d', $i);
    $spool->add(strpos($key, 'delay:') === 0
        ? SpooledJob::dueIn($key, json_encode(['uuid' => $name]), $name, 0)
        : SpooledJob::forList($key, $name, $name));
}
