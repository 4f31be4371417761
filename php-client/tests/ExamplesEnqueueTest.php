<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Redis;
use RuntimeException;
use Sidecar\Tests\Support\Poll;

/**
 * How each example enqueues, with a real Redis.
 */
final class ExamplesEnqueueTest extends ExampleTestCase
{
    /** @var resource */
    private static $server;

    /** @var int */
    private static $port;

    public static function setUpBeforeClass(): void
    {
        $free = \stream_socket_server('tcp://127.0.0.1:0');
        self::$port = (int) \substr((string) \strrchr((string) \stream_socket_get_name($free, false), ':'), 1);
        \fclose($free);
        $quiet = ['file', '/dev/null', 'r+'];
        $command = ['redis-server', '--port', (string) self::$port, '--save', '', '--bind', '127.0.0.1'];
        self::$server = \proc_open($command, [$quiet, $quiet, $quiet], $pipes, \sys_get_temp_dir());
        Poll::until('redis-server answers', static function (): bool {
            return \is_resource(@\stream_socket_client('tcp://127.0.0.1:' . self::$port));
        });
    }

    public static function tearDownAfterClass(): void
    {
        \proc_terminate(self::$server);
        \proc_close(self::$server);
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
        $url = 'redis://127.0.0.1:' . self::$port . ($prefix === '' ? '' : '?prefix=' . $prefix);
        $code = 'require "' . $shop->path($bootstrap) . '"; echo "uuid=", ' . $placed . '(42);';
        $uuid = self::php($code, ['REDIS_URL' => $url]);
        $redis = new Redis();
        $redis->connect('127.0.0.1', self::$port);
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
