<?php
// Records its end as record.php does. One kind of job always takes its process with it, after it has said so on stderr.
usleep(4000);
if (!empty($job['poison'])) {
    error_log('poisoned by ' . $job['uuid']);
    flush(); // FPM keeps stderr in a buffer, which a kill empties
    posix_kill(getmypid(), 9);
    sleep(10);
}
file_put_contents(__DIR__ . '/runs.log', 'E ' . $job['uuid'] . "\n", FILE_APPEND);
