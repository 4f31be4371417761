<?php

declare(strict_types=1);

namespace Sidecar\Wire;

/** A redis-server of our own behind a unix socket: phpredis packs values only once it is connected. */
final class PrivateRedis
{
    /** @var string */
    private $dir;

    /** @var resource */
    private $server;

    /** @param bool $cluster a node of a Cluster, which knows slots; it takes a TCP port, 10000, however it is asked */
    public function __construct(bool $cluster = false)
    {
        $this->dir = sys_get_temp_dir() . '/wire-' . bin2hex(random_bytes(6));
        mkdir($this->dir, 0700);
        $options = ['--port', '0', '--unixsocket', "$this->dir/s", '--save', '', '--dir', $this->dir];
        $this->server = proc_open(
            array_merge(['redis-server'], $options, $cluster ? ['--cluster-enabled', 'yes'] : []),
            [1 => ['file', '/dev/null', 'w'], 2 => ['file', '/dev/null', 'w']],
            $pipes
        );
    }

    public function client(): \Redis
    {
        $until = hrtime(true) + 20 * 1000000000;
        $redis = new \Redis();
        while (true) {
            try {
                $redis->connect("$this->dir/s");
                break;
            } catch (\RedisException $e) { // the socket is there before anybody listens on it
                if (hrtime(true) > $until) {
                    throw new \RuntimeException('redis-server does not answer', 0, $e);
                }
                usleep(10000);
            }
        }
        return $redis;
    }

    public function stop(): void
    {
        proc_terminate($this->server);
        proc_close($this->server);
        array_map('unlink', glob("$this->dir/*"));
        rmdir($this->dir);
    }
}
