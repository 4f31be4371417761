<?php

declare(strict_types=1);

namespace Sidecar\Tests\Connection;

use Predis\Client;
use Sidecar\Connection\ErrorReply;
use Sidecar\Producer;
use Sidecar\Tests\RedisTestCase;
use Sidecar\Tests\Support\ListSpool;
use Sidecar\Tests\Support\RedisServer;
use Sidecar\UnableToEnqueue;

/**
 * Predis' interface in front of a real Redis: Predis itself where it is installed, else tests/fake/predis.
 */
final class PredisConnectionTest extends RedisTestCase
{
    private const SECONDS = ['topics' => ['s' => ['score_unit' => 's']]];

    public static function setUpBeforeClass(): void
    {
        if (!\interface_exists(\Predis\ClientInterface::class)) {
            require_once __DIR__ . '/../fake/predis/autoload.php';
        }
    }

    /**
     * @dataProvider options
     */
    public function testTheSameIsWrittenAsThroughPhpredis(array $options): void
    {
        self::fill(self::producer(self::SECONDS, self::client(self::server(), $options)));
        $content = $this->content();
        $this->redis->flushAll(); // but not the scripts
        $phpredis = self::server()->client();
        $phpredis->setOption(\Redis::OPT_PREFIX, $options['prefix'] ?? '');
        self::fill(self::producer(self::SECONDS, $phpredis));
        self::assertSame($content, $this->content());
        self::assertCount(3, $content);
        self::assertSame(1893456000.045, $this->score(($options['prefix'] ?? '') . 'delay:pool:s', '{"uuid":"u-3"}'));
    }

    public static function options(): array
    {
        return [
            'none' => [[]],
            'a prefix' => [['prefix' => 'shop:']],
            'errors returned, not thrown' => [['exceptions' => false]],
        ];
    }

    /**
     * @dataProvider options
     */
    public function testTheScriptIsBroughtAgainToAServerThatForgotIt(array $options): void
    {
        $producer = self::producer(self::SECONDS, self::client(self::server(), $options));
        foreach ([1, 2] as $i) {
            $this->redis->script('flush');
            $producer->later('orders', '{"uuid":"u-' . $i . '"}', 0);
        }
        self::assertSame(['{"uuid":"u-1"}', '{"uuid":"u-2"}'], \current($this->content()));
    }

    /**
     * @dataProvider options
     */
    public function testAnErrorReplyMeansThatNothingWasWritten(array $options): void
    {
        foreach (['list', 'delay:pool:orders'] as $key) {
            $this->redis->set(($options['prefix'] ?? '') . $key, 'text');
        }
        $producer = self::producer(self::SECONDS, self::client(self::server(), $options));
        foreach (['push' => ['list', []], 'later' => ['orders', [], 1], 'at' => ['orders', [], new \DateTime()]] as $way => $job) {
            try {
                $producer->$way(...$job);
                self::fail('nothing was thrown');
            } catch (UnableToEnqueue $failure) {
                self::assertInstanceOf(ErrorReply::class, $failure->getPrevious());
                self::assertStringContainsString('WRONGTYPE', $failure->getMessage());
                self::assertSame([], $failure->uncertain());
            }
        }
    }

    public function testAServerThatHangsOrIsGone(): void
    {
        $server = new RedisServer();
        try {
            $spool = new ListSpool();
            $producer = self::producer(['spool' => $spool], self::client($server, [], 0.2));
            $producer->push('list', '{"job_id":"j-1"}');
            $server->freeze();
            $producer->push('list', '{"job_id":"j-2"}');
            $server->kill();
            $producer->push('list', '{"job_id":"j-3"}');
            $server->start();
            $producer->push('list', '{"job_id":"j-4"}');
            self::assertSame(['{"job_id":"j-2"}', '{"job_id":"j-3"}'], $spool->texts());
            self::assertSame(['{"job_id":"j-4"}'], $server->client()->lRange('list', 0, -1));
        } finally {
            $server->remove();
        }
    }

    public function testAnotherLocaleDoesNotChangeAScore(): void
    {
        $before = \ini_set('precision', '5');
        $locale = \setlocale(\LC_NUMERIC, '0');
        \setlocale(\LC_NUMERIC, 'de_DE.UTF-8', 'de_DE', 'fr_FR.UTF-8');
        try {
            self::fill(self::producer(self::SECONDS, self::client(self::server())));
        } finally {
            \setlocale(\LC_NUMERIC, $locale);
            \ini_set('precision', (string) $before);
        }
        self::assertSame(1893456000.045, $this->score('delay:pool:s', '{"uuid":"u-3"}'));
    }

    private static function client(RedisServer $server, array $options = [], float $timeout = 10.0): Client
    {
        return new Client(
            ['scheme' => 'unix', 'path' => $server->socket(), 'read_write_timeout' => $timeout],
            $options
        );
    }

    private static function fill(Producer $producer): void
    {
        $producer->later('orders', '{"uuid":"u-2"}', 60);
        $producer->laterMany('orders', ['{"uuid":"u-1"}', '{"uuid":"u-0"}'], 90.5);
        $producer->pushMany('list', ['{"job_id":"j-1"}', '{"job_id":"j-2"}']);
        $producer->at('s', '{"uuid":"u-3"}', new \DateTime('2030-01-01 00:00:00.045 UTC'));
    }
}
