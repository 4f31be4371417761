<?php
// Notes which trace each run is told to be part of, and fails once where the job says so.
return function (array $job): void {
    $line = [$job['uuid'], $_SERVER['HTTP_TRACEPARENT'] ?? '', $_SERVER['HTTP_TRACESTATE'] ?? ''];
    file_put_contents(__DIR__ . '/runs.log', json_encode($line) . "\n", FILE_APPEND);
    if (!empty($job['fail_once']) && ($job['retry'] ?? 0) === 0) {
        throw new RuntimeException('no answer from 13800138000');
    }
};
