<?php

declare(strict_types=1);

/**
 * Reads --name=value and --flag arguments over the defaults; unknown names end the program.
 *
 * @param string[]                  $argv
 * @param array<string, int|string> $defaults
 *
 * @return array<string, int|string>
 */
function opts(array $argv, array $defaults): array
{
    $options = $defaults;
    foreach (array_slice($argv, 1) as $arg) {
        if (!preg_match('/^--([a-z0-9-]+)(?:=(.*))?$/s', $arg, $m)) {
            fwrite(STDERR, "bad argument: $arg\n");
            exit(2);
        }
        if (!array_key_exists($m[1], $defaults)) {
            $known = implode(' ', array_map(static fn ($name) => "--$name", array_keys($defaults)));
            fwrite(STDERR, "unknown option --{$m[1]}; known: $known\n");
            exit(2);
        }
        $value = $m[2] ?? '1';
        $options[$m[1]] = is_int($defaults[$m[1]]) ? (int) $value : $value;
    }

    return $options;
}

/** The host's clock, as the old side uses it everywhere. */
function now_ms(): int
{
    return (int) (microtime(true) * 1000);
}

/** Opens HOST:PORT or the path of a unix socket. */
function redis_open(string $addr): Redis
{
    $redis = new Redis();
    if ($addr[0] === '/') {
        $redis->connect($addr);
    } else {
        [$host, $port] = explode(':', $addr);
        $redis->connect($host, (int) $port, 2.0);
    }
    $redis->setOption(Redis::OPT_READ_TIMEOUT, 60);

    return $redis;
}
