<?php
// Records every run beside this file: "S uuid" at its start, "E uuid" at its end, in one write each, so that the
// lines survive a kill. It returns what is called with each job and its text, in both modes. What it does follows
// from the job: fail, fail_once, sleep_ms, hang, die, and wait: until a file of that name is there.
return function (array $job, string $text): void {
    $runs = __DIR__ . '/runs.log';
    $note = function (string $mark) use ($runs, $job): void {
        file_put_contents($runs, $mark . ' ' . $job['uuid'] . "\n", FILE_APPEND);
    };
    $note('S');
    if (($job['retry'] ?? 0) > 0) {
        file_put_contents(__DIR__ . '/retried.log', $text . "\n", FILE_APPEND);
    }
    if (!empty($job['sleep_ms'])) {
        usleep($job['sleep_ms'] * 1000);
    }
    while (isset($job['wait']) && !file_exists(__DIR__ . '/' . $job['wait'])) {
        usleep(5000);
        clearstatcache();
    }
    if (!empty($job['hang'])) {
        while (true) {
            sleep(1);
        }
    }
    if (!empty($job['die'])) {
        posix_kill(getmypid(), 9);
    }
    if (!empty($job['fail'])) {
        throw new RuntimeException('支付回调失败: injected/always');
    }
    if (!empty($job['fail_once']) && ($job['retry'] ?? 0) === 0) {
        throw new RuntimeException('支付回调失败: injected/once');
    }
    $note('E');
};
