<?php
// Fails as long as there is a file "broken" beside it, and says in runs.log which jobs ran through.
return function (array $job): void {
    if (file_exists(__DIR__ . '/broken')) {
        throw new RuntimeException('payment gateway answered 502 Bad Gateway');
    }
    file_put_contents(__DIR__ . '/runs.log', 'E ' . $job['uuid'] . "\n", FILE_APPEND);
};
