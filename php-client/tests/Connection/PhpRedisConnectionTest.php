<?php

declare(strict_types=1);

namespace Sidecar\Tests\Connection;

use Sidecar\Connection\UnsuitableConnection;
use Sidecar\Producer;
use Sidecar\Tests\RedisTestCase;
use Sidecar\Tests\Support\ListSpool;
use Sidecar\Tests\Support\RedisServer;

/**
 * Connections of phpredis as teams have set them up.
 */
final class PhpRedisConnectionTest extends RedisTestCase
{
    public function testTheClientsPrefixStandsBeforeEachKeyOnce(): void
    {
        $redis = self::server()->client();
        $redis->setOption(\Redis::OPT_PREFIX, 'shop:');
        self::fillAllWays(self::producer([], $redis));
        self::assertSame(['shop:delay:pool:orders', 'shop:list'], \array_keys($this->content()));
    }

    public function testTheUrlsPrefixToo(): void
    {
        self::fillAllWays(self::producer([], self::server()->url('prefix=' . \rawurlencode('a&b:'))));
        self::assertSame(['a&b:delay:pool:orders', 'a&b:list'], \array_keys($this->content()));
    }

    /**
     * @dataProvider packings
     */
    public function testAConnectionThatPacksIsRefused(string $option, int $value): void
    {
        $redis = self::packing($option, $value);
        foreach ([[], ['spool' => new ListSpool()]] as $options) {
            foreach (self::ways() as $way) {
                try {
                    $way(self::producer($options, $redis));
                    self::fail('nothing was thrown');
                } catch (UnsuitableConnection $refused) {
                    self::assertStringContainsString("'serialized' => 'allow'", $refused->getMessage());
                    self::assertStringContainsString('encoding = "auto"', $refused->getMessage());
                    self::assertStringContainsString(\strtolower(\substr($option, 4)), $refused->getMessage());
                }
            }
        }
        self::assertSame([], $this->content());
    }

    /**
     * @dataProvider packings
     */
    public function testWhereItIsAllowedAllMembersAreTheOnesPhpredisWrites(string $option, int $value): void
    {
        $redis = self::packing($option, $value);
        $redis->setOption(\Redis::OPT_PREFIX, 'shop:');
        $text = '{"uuid":"u","job_id":"u","pad":"' . \str_repeat('abc', 300) . '"}';
        foreach (self::ways($text) as $way) {
            $this->redis->flushAll();
            $way(self::producer(['serialized' => 'allow'], $redis));
            [$member] = \current($this->content());
            self::assertNotSame($text, $member);
            self::assertSame($redis->_pack($text), $member);
            self::assertSame($text, $redis->_unpack($member));
        }
    }

    public static function packings(): array
    {
        $packings = [
            'php' => ['OPT_SERIALIZER', \Redis::SERIALIZER_PHP],
            'json' => ['OPT_SERIALIZER', \Redis::SERIALIZER_JSON],
        ];
        foreach (['SERIALIZER' => ['IGBINARY', 'MSGPACK'], 'COMPRESSION' => ['LZF', 'ZSTD', 'LZ4']] as $kind => $names) {
            foreach ($names as $name) {
                if (\defined('Redis::' . $kind . '_' . $name)) {
                    $packings[\strtolower($name)] = ['OPT_' . $kind, \constant('Redis::' . $kind . '_' . $name)];
                }
            }
        }
        return $packings;
    }

    public function testWhatIsSpooledAfterALostAnswerIsThePackedMember(): void
    {
        $server = new RedisServer();
        try {
            $redis = $server->client();
            $redis->setOption(\Redis::OPT_SERIALIZER, \Redis::SERIALIZER_PHP);
            $redis->setOption(\Redis::OPT_READ_TIMEOUT, '0.1');
            $factory = static function () use ($redis): \Redis {
                return $redis;
            };
            foreach ([$redis, $factory] as $given) {
                $spool = new ListSpool();
                $producer = self::producer(['serialized' => 'allow', 'spool' => $spool], $given);
                $producer->later('orders', '{"uuid":"u-0"}', 0);
                self::assertSame([], $spool->texts());
                $server->freeze();
                $producer->later('orders', '{"uuid":"u-1"}', 0);
                $server->thaw();
                self::assertSame(['s:14:"{"uuid":"u-1"}";'], $spool->texts());
            }
        } finally {
            $server->remove();
        }
    }

    /**
     * @dataProvider everyWay
     */
    public function testALateAnswerIsNotTakenForThatToTheNextCommand(callable $way): void
    {
        $server = new RedisServer();
        try {
            $redis = $server->client();
            $redis->config('SET', 'requirepass', 'secret');
            $redis->auth('secret');
            $redis->select(3);
            $redis->setOption(\Redis::OPT_READ_TIMEOUT, '0.2');
            $producer = self::producer(['spool' => new ListSpool()], $redis);
            self::fillAllWays($producer); // the script is there, and the key is a list
            $server->freeze();
            $way($producer);
            $server->thaw();
            $redis->setOption(\Redis::OPT_READ_TIMEOUT, '60');
            $producer->push('list', '{"job_id":"j-2"}');
            self::assertSame('{"job_id":"j-2"}', $redis->lPop('list'), 'in the same database');
            $redis->select(0);
            self::assertSame([], $redis->keys('*'));
        } finally {
            $server->remove();
        }
    }

    public static function everyWay(): array
    {
        return \array_combine(['later', 'at', 'push'], \array_map(static function (callable $way): array {
            return [$way];
        }, self::ways()));
    }

    public function testAConnectionInATransactionIsRefused(): void
    {
        foreach ([\Redis::MULTI, \Redis::PIPELINE] as $mode) {
            $redis = self::server()->client();
            $redis->multi($mode);
            foreach (self::ways() as $way) {
                try {
                    $way(self::producer([], $redis));
                    self::fail('nothing was thrown');
                } catch (UnsuitableConnection $refused) {
                    self::assertStringContainsString('multi() or a pipeline', $refused->getMessage());
                }
            }
            $redis->discard();
        }
        self::assertSame([], $this->content());
    }

    public function testAnErrorOfTheTeamsOwnCommandIsNotTakenForOurs(): void
    {
        $redis = self::server()->client();
        $redis->set('text', 'no list');
        $redis->lPush('text', 'x');
        self::assertNotNull($redis->getLastError());
        self::fillAllWays(self::producer([], $redis));
        self::assertNull($redis->getLastError());
    }

    public function testACluster(): void
    {
        $server = new RedisServer(['--port', (string) self::freePort(), '--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1']);
        try {
            $node = $server->client();
            $node->rawCommand('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
            \Sidecar\Tests\Support\Poll::until('the cluster is up', static function () use ($node): bool {
                return \strpos($node->rawCommand('CLUSTER', 'INFO'), 'cluster_state:ok') !== false;
            });
            $cluster = new \RedisCluster(null, ['127.0.0.1:' . $node->config('GET', 'port')['port']]);
            $cluster->setOption(\RedisCluster::OPT_PREFIX, '{shop}:');
            self::fillAllWays(self::producer([], $cluster));
            self::assertSame(['{"uuid":"u-2"}', '{"uuid":"u-1"}'], $node->zRange('{shop}:delay:pool:orders', 0, -1));
            self::assertSame(['{"job_id":"j-1"}'], $node->lRange('{shop}:list', 0, -1));
        } finally {
            $server->remove();
        }
    }

    private static function fillAllWays(Producer $producer): void
    {
        foreach (self::ways() as $way) {
            $way($producer);
        }
    }

    /** @return callable[] */
    private static function ways(string $text = ''): array
    {
        return [
            static function (Producer $producer) use ($text): void {
                $producer->later('orders', $text === '' ? '{"uuid":"u-1"}' : $text, 60);
            },
            static function (Producer $producer) use ($text): void {
                $producer->at('orders', $text === '' ? '{"uuid":"u-2"}' : $text, new \DateTime('@5'));
            },
            static function (Producer $producer) use ($text): void {
                $producer->push('list', $text === '' ? '{"job_id":"j-1"}' : $text);
            },
        ];
    }

    private static function packing(string $option, int $value): \Redis
    {
        $redis = self::server()->client();
        self::assertTrue($redis->setOption(\constant('Redis::' . $option), (string) $value));
        return $redis;
    }

    private static function freePort(): int
    {
        $socket = \stream_socket_server('tcp://127.0.0.1:0');
        $port = (int) \substr((string) \strrchr((string) \stream_socket_get_name($socket, false), ':'), 1);
        \fclose($socket);
        return $port < 55000 ? $port : self::freePort(); // its bus takes the one 10000 above
    }
}
