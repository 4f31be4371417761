<?php

// Sleeps for $job['seconds'], marking start and end in $job['dir'].
$mark = $job['dir'] . '/' . $job['uuid'];
file_put_contents($mark . '.start', getmypid() . "\n", FILE_APPEND);
for ($end = microtime(true) + $job['seconds']; microtime(true) < $end;) {
    usleep(20000);
}
file_put_contents($mark . '.end', "x\n", FILE_APPEND);
echo 'success';
