<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use RuntimeException;
use Sidecar\Tests\Support\RedisServer;

/**
 * How each example enqueues, with a real Redis.
 */
final class ExamplesEnqueueTest extends ExampleTestCase
{
    /** @var RedisServer */
    private static $server;

    public static function setUpBeforeClass(): void
    {
        self::$server = new RedisServer();
    }

    public static function tearDownAfterClass(): void
    {
        self::$server->remove();
        parent::tearDownAfterClass();
    }

    /**
     * @dataProvider examples
     */
    public function testTheJobIsInThePoolUnderTheTeamsPrefix(string $example, string $bootstrap, string $placed): void
    {
        $shop = self::project($example);
        $shop->write('runtime/container/scan.cache', '');
        $prefix = self::prefixIn((string) \file_get_contents($shop->path('sidecar.toml')));
        $code = 'require "' . $shop->path($bootstrap) . '"; echo "uuid=", ' . $placed . '(42);';
        $uuid = self::php($code, ['REDIS_URL' => self::$server->url('prefix=' . $prefix)]);
        $redis = self::$server->client();
        $pool = $redis->zRange($prefix . 'delay:pool:order_timeout', 0, -1, true);
        [$seconds] = $redis->time();
        self::assertCount(1, $pool);
        $job = \json_decode((string) \key($pool), true);
        self::assertEquals(['order_id' => 42, 'uuid' => $uuid], $job);
        self::assertEqualsWithDelta(($seconds + 900) * 1000, \current($pool), 60000);
        $redis->flushAll();
    }

    public static function examples(): array
    {
        return [
            'plain' => ['plain', 'bootstrap.php', 'App\Queue::orderPlaced'],
            'laravel' => ['laravel', 'sidecar/bootstrap.php', 'Illuminate\Container\Container::getInstance()->make("App\Http\Controllers\OrderController")->placed'],
            'thinkphp' => ['thinkphp', 'sidecar/bootstrap.php', 'think\Container::getInstance()->make("app\controller\Order")->placed'],
            'hyperf' => ['hyperf', 'sidecar/bootstrap.php', 'App\Sidecar\Queue::orderPlaced'],
        ];
    }

    private static function prefixIn(string $toml): string
    {
        self::assertSame(1, \preg_match('/^key_prefix = "(.*?)"/m', $toml, $found));
        return $found[1];
    }

    /** What this code prints after "uuid=". */
    private static function php(string $code, array $environment): string
    {
        $pipes = [];
        $streams = [1 => ['pipe', 'w'], 2 => ['redirect', 1]];
        $run = \proc_open([\PHP_BINARY, '-r', $code], $streams, $pipes, null, $environment + \getenv());
        $out = (string) \stream_get_contents($pipes[1]);
        \proc_close($run);
        if (\preg_match('/uuid=(\S+)$/', $out, $found) !== 1) {
            throw new RuntimeException($out);
        }
        return $found[1];
    }
}
