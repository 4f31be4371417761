<?php

/**
 * Stores jobs as a web request does while Redis is away: one order a request, JSON in its body.
 *
 * {"dsn","username","password","jobs":[{"key","text" (base64),"due_ms" or "delay_ms"; neither: a list's}]}
 */

declare(strict_types=1);

require __DIR__ . '/php-client/autoload.php';

use Sidecar\Spool\PdoSpool;
use Sidecar\Spool\SpooledJob;

$order = \json_decode((string) \file_get_contents('php://input'), true);
$spool = \strncmp($order['dsn'], 'sqlite:', 7) === 0
    ? PdoSpool::sqlite(\substr($order['dsn'], 7))
    : PdoSpool::mysql(static function () use ($order): \PDO {
        return new \PDO($order['dsn'], $order['username'], $order['password']);
    });
foreach ($order['jobs'] as $job) {
    $text = \base64_decode($job['text']);
    if (isset($job['due_ms'])) {
        $due = SpooledJob::dueAt($job['key'], $text, 'uuid', $job['due_ms']);
        $spool->add(isset($job['seconds']) ? $due->scoredInSeconds() : $due);
    } elseif (isset($job['delay_ms'])) {
        $spool->add(SpooledJob::dueIn($job['key'], $text, 'uuid', $job['delay_ms']));
    } else {
        $spool->add(SpooledJob::forList($job['key'], $text, 'uuid'));
    }
}
echo 'stored ', \count($order['jobs']);
