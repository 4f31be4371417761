<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use PHPUnit\Framework\TestCase;
use Sidecar\Circuit\CircuitBreaker;
use Sidecar\Circuit\ProcessState;
use Sidecar\Producer;
use Sidecar\Tests\Support\RedisServer;

/**
 * Has a private redis-server, empty for each test.
 */
abstract class RedisTestCase extends TestCase
{
    /** @var RedisServer|null */
    private static $server;

    /** @var \Redis Reads what is there. */
    protected $redis;

    public static function tearDownAfterClass(): void
    {
        if (self::$server !== null) {
            self::$server->remove();
            self::$server = null;
        }
    }

    protected function setUp(): void
    {
        $this->redis = self::server()->client();
        $this->redis->flushAll();
    }

    protected static function server(): RedisServer
    {
        self::$server = self::$server ?? new RedisServer();
        return self::$server;
    }

    /** A producer whose circuit is its own. */
    protected static function producer(array $options = [], $redis = null): Producer
    {
        $options += ['circuit' => new CircuitBreaker(new ProcessState()), 'read_timeout' => 10.0];
        return Producer::to($redis ?? self::server()->url(), $options);
    }

    /** Everything that is in Redis: texts by key, in order, without scores. */
    protected function content(): array
    {
        $content = [];
        foreach ($this->redis->keys('*') as $key) {
            if ($this->redis->type($key) === \Redis::REDIS_STRING) {
                continue;
            }
            $content[$key] = $this->redis->type($key) === \Redis::REDIS_ZSET
                ? $this->redis->zRange($key, 0, -1)
                : $this->redis->lRange($key, 0, -1);
        }
        \ksort($content);
        return $content;
    }

    /** Redis' own time, ms. */
    protected function now(): float
    {
        [$seconds, $microseconds] = $this->redis->time();
        return $seconds * 1000 + $microseconds / 1000;
    }

    protected function score(string $key, string $text): float
    {
        $score = $this->redis->zScore($key, $text);
        self::assertIsFloat($score, $text . ' is not in ' . $key . ': ' . \json_encode($this->content()));
        return $score;
    }
}
