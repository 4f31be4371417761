<?php
// Notes beside this file all that a job could have changed around the code that runs it, one line of JSON a run, and
// throws what the job says if it is to fail.
return function (array $job): void {
    ksort($_SERVER);
    $env = getenv();
    ksort($env);
    file_put_contents(__DIR__ . '/seen.log', json_encode([
        'server' => array_keys($_SERVER),
        'env' => array_keys($env),
        'values' => implode("\n", array_map('strval', array_filter($_SERVER + $env, 'is_scalar'))),
        'uuid' => $_SERVER['SIDECAR_UUID'],
        'topic' => $_SERVER['SIDECAR_TOPIC'],
        'ini' => [ini_get('auto_prepend_file'), ini_get('open_basedir'), ini_get('disable_functions')],
        'headers' => headers_list(),
        'cookies' => $_COOKIE,
        'get' => $_GET,
        'post' => $_POST,
        'cwd' => getcwd(),
    ], JSON_INVALID_UTF8_SUBSTITUTE) . "\n", FILE_APPEND);
    if (!empty($job['fail'])) {
        throw new RuntimeException($job['say']);
    }
};
