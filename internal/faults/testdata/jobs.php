<?php
// Runs jobs of known fate and writes the ledger: "S uuid who pid start retry crashes" when a run starts and
// "E uuid who pid start end verdict" when it ends, times in microseconds, one write each, so that the lines survive a
// kill. $who is the sidecar whose configuration names the file that includes this one.
require_once __DIR__ . '/reject.php';

return function (string $who): Closure {
    return function (array $job) use ($who): void {
        if ($job['fate'] === 'warm') {
            return; // not one that is counted
        }
        $run = sprintf('%s %s %d %d', $job['uuid'] ?? $job['job_id'], $who, getmypid(), microtime(true) * 1e6);
        $note = function (string $line): void {
            file_put_contents(__DIR__ . '/ledger', $line . "\n", FILE_APPEND);
        };
        $end = function (string $verdict) use ($run, $note): void {
            $note(sprintf('E %s %d %s', $run, microtime(true) * 1e6, $verdict));
        };
        $note(sprintf('S %s %d %d', $run, $job['retry'] ?? $job['retry_count'] ?? 0, $job['crashes'] ?? 0));
        usleep($job['us'] ?? 0);
        switch ($job['fate']) {
            case 'crash once':
                if (($job['crashes'] ?? 0) === 0) {
                    posix_kill(getmypid(), 9);
                }
                break;
            case 'fail once':
                if (($job['retry'] ?? $job['retry_count'] ?? 0) > 0) {
                    break;
                }
                // no break
            case 'fail':
                $end('failed');
                throw new RuntimeException('支付回调失败: injected/always');
            case 'reject':
                $end('rejected');
                throw new RejectJob('order was deleted');
        }
        $end('done');
    };
};
