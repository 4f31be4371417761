<?php

// A job as an old script: the sidecar includes it with $job, an array, at hand. It knows nothing of the sidecar.

declare(strict_types=1);

require __DIR__ . '/bootstrap.php';

use Shop\Marks;

/** @var array $job */
Marks::leave($job['uuid'], 'start');
usleep(random_int(500, 4000)); // the mail server

$failed = $job['retry'] ?? 0;
$wish = $job['wish'] ?? 'ok'; // a job from `sidecar push` wishes for nothing
if ($wish === 'fail' || ($wish === 'fail once' && $failed === 0)) {
    Marks::leave($job['uuid'], 'fail');
    throw new RuntimeException("mail server refused {$job['to']}");
}
Marks::leave($job['uuid'], 'end');
