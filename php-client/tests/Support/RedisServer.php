<?php

declare(strict_types=1);

namespace Sidecar\Tests\Support;

/**
 * A redis-server of our own behind a unix socket, in a directory of its own.
 */
final class RedisServer
{
    private const STOP = 19;
    private const CONTINUE = 18;
    private const KILL = 9;

    /** @var string */
    private $dir;

    /** @var string[] */
    private $options;

    /** @var resource|null */
    private $process;

    /** @param string[] $options as on the command line */
    public function __construct(array $options = [])
    {
        $this->dir = \sys_get_temp_dir() . '/redis-' . \bin2hex(\random_bytes(6));
        \mkdir($this->dir, 0700);
        $this->options = $options;
        $this->start();
    }

    public function socket(): string
    {
        return $this->dir . '/s';
    }

    public function url(string $query = ''): string
    {
        return 'unix://' . $this->socket() . ($query === '' ? '' : '?' . $query);
    }

    /** A connection of its own each time. */
    public function client(): \Redis
    {
        $redis = new \Redis();
        $redis->connect($this->socket());
        return $redis;
    }

    public function start(): void
    {
        $none = ['file', '/dev/null', 'w'];
        $pipes = [];
        $this->process = \proc_open(\array_merge(
            ['redis-server', '--port', '0', '--unixsocket', $this->socket(), '--save', '', '--dir', $this->dir],
            $this->options
        ), [['file', '/dev/null', 'r'], $none, $none], $pipes);
        try {
            Poll::until('redis-server answers', function (): bool {
                return $this->answers();
            });
        } catch (\RuntimeException $failure) {
            $this->kill();
            throw $failure;
        }
    }

    private function answers(): bool
    {
        try {
            return \file_exists($this->socket()) && (bool) $this->client()->ping();
        } catch (\RedisException $notYet) {
            return false;
        }
    }

    /** It takes connections and answers nobody, like a machine that hangs. */
    public function freeze(): void
    {
        \proc_terminate($this->process, self::STOP);
        Poll::until('redis-server is frozen', function (): bool {
            return \proc_get_status($this->process)['stopped'];
        });
    }

    public function thaw(): void
    {
        \proc_terminate($this->process, self::CONTINUE);
    }

    /** It is gone, with all it held. */
    public function kill(): void
    {
        if ($this->process !== null) {
            \proc_terminate($this->process, self::KILL);
            \proc_close($this->process);
            $this->process = null;
            @\unlink($this->socket());
        }
    }

    public function remove(): void
    {
        $this->kill();
        foreach ((array) \glob($this->dir . '/*') as $file) {
            \unlink((string) $file);
        }
        \rmdir($this->dir);
    }
}
