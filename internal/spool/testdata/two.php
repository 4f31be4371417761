<?php

/**
 * Two web requests that store a job each, at once, in transactions of theirs: the one that began first ends last. Says
 * "second" when the second is stored, waits for a line, lets the first end and says "first".
 *
 * two.php dsn username password key
 */

declare(strict_types=1);

require __DIR__ . '/../../../php-client/autoload.php';

use Sidecar\Spool\PdoSpool;
use Sidecar\Spool\SpooledJob;

[, $dsn, $username, $password, $key] = $argv;
$connect = static function () use ($dsn, $username, $password): \PDO {
    return new \PDO($dsn, $username, $password);
};
(new PdoSpool($connect))->add(SpooledJob::forList($key, 'before both', 'u0')); // makes the table, too
$first = $connect();
$first->beginTransaction();
(new PdoSpool($first))->add(SpooledJob::forList($key, 'first', 'u1'));
$second = $connect();
$second->beginTransaction();
(new PdoSpool($second))->add(SpooledJob::forList($key, 'second', 'u2'));
$second->commit();
echo "second\n";
\fgets(\STDIN);
$first->commit();
echo "first\n";
