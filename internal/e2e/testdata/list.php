<?php
// Records every run of a list's job beside this file: "S job_id" at its start, "E job_id" at its end, and its text in
// texts.log, in one write each, so that they survive a kill. It returns what is called with each job and its text, in
// both modes. What it does follows from the payload: sleep_ms, fail, fail_once, and wait: until a file of that name is
// there.
return function (array $job, string $text): void {
    $note = function (string $mark) use ($job): void {
        file_put_contents(__DIR__ . '/runs.log', $mark . ' ' . $job['job_id'] . "\n", FILE_APPEND);
    };
    $does = $job['payload'];
    file_put_contents(__DIR__ . '/texts.log', $text . "\n", FILE_APPEND);
    $note('S');
    usleep(($does['sleep_ms'] ?? 0) * 1000);
    while (isset($does['wait']) && !file_exists(__DIR__ . '/' . $does['wait'])) {
        usleep(5000);
        clearstatcache();
    }
    if (!empty($does['fail']) || !empty($does['fail_once']) && ($job['retry_count'] ?? 0) === 0) {
        throw new RuntimeException('短信网关: injected/failure');
    }
    $note('E');
};
