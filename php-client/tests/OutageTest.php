<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use PHPUnit\Framework\TestCase;
use Sidecar\Circuit\CircuitBreaker;
use Sidecar\Circuit\ProcessState;
use Sidecar\Connection\ErrorReply;
use Sidecar\Producer;
use Sidecar\Spool\SpooledJob;
use Sidecar\Spool\UnableToSpool;
use Sidecar\Tests\Support\ListSpool;
use Sidecar\Tests\Support\RedisServer;
use Sidecar\UnableToEnqueue;

/**
 * Redis is gone, hangs, or refuses.
 */
final class OutageTest extends TestCase
{
    private const NOWHERE = 'unix:///no/such/socket';

    /** @var RedisServer|null */
    private $server;

    protected function tearDown(): void
    {
        if ($this->server !== null) {
            $this->server->remove();
        }
    }

    public function testWithoutASpoolTheCallerKeepsTheJob(): void
    {
        $failure = self::failure(static function (): void {
            self::producer(self::NOWHERE)->later('orders', ['uuid' => 'u-1'], 5);
        });
        self::assertSame('u-1', $failure->uuid());
        self::assertSame('{"uuid":"u-1"}', $failure->text());
        self::assertSame([['uuid' => 'u-1', 'text' => '{"uuid":"u-1"}']], $failure->lost());
        self::assertSame([[], [], []], [$failure->uncertain(), $failure->enqueued(), $failure->spooled()]);
        self::assertStringStartsWith('enqueue job u-1 for delay:pool:orders: connect to /no/such/sock', $failure->getMessage());
    }

    public function testACallbackThatFailsFailsNoRequestWhoseJobIsSafe(): void
    {
        $log = \ini_set('error_log', '/dev/null');
        $spool = new ListSpool();
        $producer = self::producer(self::NOWHERE, [
            'spool' => $spool,
            'on_spooled' => static function (): void {
                throw new \RuntimeException('the log is full');
            },
        ]);
        self::assertSame('u-1', $producer->later('orders', ['uuid' => 'u-1'], 1.5));
        self::assertSame(['u-2', 'u-3'], $producer->laterMany('orders', [['uuid' => 'u-2'], ['uuid' => 'u-3']], 1));
        self::assertCount(3, $spool->jobs);
        \ini_set('error_log', (string) $log);
    }

    public function testAPoolInSecondsIsToldToTheSpool(): void
    {
        $spool = new ListSpool();
        $producer = self::producer(self::NOWHERE, ['spool' => $spool, 'topics' => ['sec' => ['score_unit' => 's']]]);
        $producer->later('sec', ['uuid' => 'u-1'], 1.5);
        self::assertSame([SpooledJob::POOL_SECONDS], \array_map(static function (SpooledJob $job): string {
            return $job->kind();
        }, $spool->jobs));
    }

    public function testWithASpoolTheJobWaitsThere(): void
    {
        $spool = new ListSpool();
        $told = [];
        $producer = self::producer(self::NOWHERE . '?prefix=shop:', [
            'spool' => $spool,
            'lists' => ['queue:prod:sms' => ['shards' => 8]],
            'on_spooled' => static function (SpooledJob $job, \Throwable $why) use (&$told): void {
                $told[] = $job->uuid() . ': ' . \strtok($why->getMessage(), ':');
            },
        ]);
        self::assertSame('u-1', $producer->later('orders', ['uuid' => 'u-1'], 1.5));
        self::assertSame('u-2', $producer->at('orders', ['uuid' => 'u-2'], new \DateTime('@5')));
        self::assertSame('j-1', $producer->push('queue:prod:sms', '{"job_id":"j-1"}'));
        self::assertEquals([
            SpooledJob::dueIn('delay:pool:orders', '{"uuid":"u-1"}', 'u-1', 1500),
            SpooledJob::dueAt('delay:pool:orders', '{"uuid":"u-2"}', 'u-2', 5000),
            SpooledJob::forList('queue:prod:sms_' . \crc32('j-1') % 8, '{"job_id":"j-1"}', 'j-1'),
        ], $spool->jobs);
        $why = 'connect to /no/such/socket';
        self::assertSame(['u-1: ' . $why, 'u-2: ' . $why, 'j-1: ' . $why], $told);
    }

    public function testWhenTheSpoolFailsTooTheCallerHearsOfBoth(): void
    {
        $failure = self::failure(static function (): void {
            self::producer(self::NOWHERE, ['spool' => new ListSpool(2)])->laterMany('orders', [
                '{"uuid":"u-1"}', '{"uuid":"u-2"}', '{"uuid":"u-3"}', '{"uuid":"u-4"}',
            ], 5);
        });
        self::assertSame(['u-1', 'u-2'], $failure->spooled());
        self::assertSame(['u-3', 'u-4'], \array_column($failure->lost(), 'uuid'));
        self::assertSame([], $failure->enqueued());
        self::assertStringContainsString('enqueue job u-3 and 1 more for delay:pool:orders: connect', $failure->getMessage());
        self::assertStringContainsString('disk full', $failure->getMessage());
        self::assertInstanceOf(UnableToSpool::class, $failure->getPrevious()->getPrevious());
    }

    public function testAServerThatHangsLeavesOpenWhatBecameOfTheJob(): void
    {
        $producer = $this->producerOfAServerThatHangs();
        $failure = self::failure(static function () use ($producer): void {
            $producer->later('orders', ['uuid' => 'u-1'], 0);
        });
        self::assertSame(['u-1'], $failure->uncertain());
        self::assertSame(['u-1'], \array_column($failure->lost(), 'uuid'));
        $this->server->thaw();
        // what was sent is read now, and the answer to it is not taken for that to the next one
        $producer->push('list', '{"job_id":"j-1"}');
        $redis = $this->server->client();
        Support\Poll::until('the first write is through', static function () use ($redis): bool {
            return $redis->zRange('delay:pool:orders', 0, -1) === ['{"uuid":"u-0"}', '{"uuid":"u-1"}'];
        });
        self::assertSame(['{"job_id":"j-1"}'], $redis->lRange('list', 0, -1));
    }

    public function testWhatWasSentAndSpooledIsTheSameMember(): void
    {
        $spool = new ListSpool();
        $producer = $this->producerOfAServerThatHangs(['spool' => $spool]);
        $producer->later('orders', ['uuid' => 'u-1'], 0);
        self::assertSame(['{"uuid":"u-1"}'], $spool->texts());
    }

    public function testAServerThatIsBackIsUsed(): void
    {
        $this->server = new RedisServer();
        $spool = new ListSpool();
        $producer = self::producer($this->server->url(), ['spool' => $spool]);
        $producer->push('list', '{"job_id":"j-1"}');
        $this->server->kill();
        $producer->push('list', '{"job_id":"j-2"}');
        $this->server->start();
        $producer->push('list', '{"job_id":"j-3"}');
        self::assertSame(['{"job_id":"j-2"}'], $spool->texts());
        self::assertSame(['{"job_id":"j-3"}'], $this->server->client()->lRange('list', 0, -1));
    }

    public function testABulkThatFailsHalfWaySaysWhatWentIn(): void
    {
        $this->server = new RedisServer();
        $this->server->client()->set('b', 'no list');
        $fill = static function (Producer $producer): void {
            $producer->push('a', '{"job_id":"a-1"}');
            $producer->push('b', '{"job_id":"b-1"}');
            $producer->push('a', '{"job_id":"a-2"}');
            $producer->push('c', '{"job_id":"c-1"}');
        };
        $failure = self::failure(function () use ($fill): void {
            self::producer($this->server->url())->bulk($fill);
        });
        self::assertSame(['a-1', 'a-2'], $failure->enqueued());
        self::assertSame(['b-1', 'c-1'], \array_column($failure->lost(), 'uuid'));
        self::assertSame([], $failure->uncertain(), 'Redis has said what became of each');
        self::assertInstanceOf(ErrorReply::class, $failure->getPrevious());
        self::assertStringContainsString('LPUSH: WRONGTYPE', $failure->getMessage());

        $spool = new ListSpool();
        $uuids = self::producer($this->server->url(), ['spool' => $spool])->bulk($fill);
        self::assertSame(['a-1', 'b-1', 'a-2', 'c-1'], $uuids);
        self::assertSame(['{"job_id":"b-1"}', '{"job_id":"c-1"}'], $spool->texts());
    }

    /**
     * @dataProvider refusals
     */
    public function testWhatRedisRefusesIsNotIn(array $setting, string $reply): void
    {
        $this->server = new RedisServer();
        $this->server->client()->config('SET', ...$setting);
        foreach (['later' => ['orders', ['uuid' => 'u-1'], 5], 'push' => ['list', ['job_id' => 'u-1']]] as $way => $job) {
            $spool = new ListSpool();
            self::producer($this->server->url(), ['spool' => $spool])->$way(...$job);
            self::assertCount(1, $spool->jobs);
            $failure = self::failure(function () use ($way, $job): void {
                self::producer($this->server->url())->$way(...$job);
            });
            self::assertStringContainsString($reply, $failure->getMessage());
            self::assertSame([], $failure->uncertain());
        }
        self::assertSame([], $this->server->client()->keys('*'));
    }

    public static function refusals(): array
    {
        return [
            'memory full' => [['maxmemory', '1'], 'OOM '],
            'too few replicas' => [['min-replicas-to-write', '1'], 'NOREPLICAS '],
        ];
    }

    public function testAnOpenCircuitAsksNobody(): void
    {
        $this->server = new RedisServer();
        $now = 1000;
        $circuit = new CircuitBreaker(new ProcessState(), 2, 5000, static function () use (&$now): int {
            return $now;
        });
        $spool = new ListSpool();
        $asked = 0;
        $producer = self::producer(function () use (&$asked): \Redis {
            $asked++;
            return $this->server->client();
        }, ['spool' => $spool, 'circuit' => $circuit]);
        $this->server->kill();
        foreach (\range(1, 10) as $i) {
            $producer->push('list', '{"job_id":"j-' . $i . '"}');
        }
        self::assertSame(2, $asked, 'the circuit is open after two failures');
        $this->server->start();
        $producer->push('list', '{"job_id":"j-11"}');
        self::assertSame(2, $asked, 'and stays so for its time');
        $now += 5000;
        $producer->push('list', '{"job_id":"j-12"}');
        $producer->push('list', '{"job_id":"j-13"}');
        self::assertSame(3, $asked);
        self::assertCount(11, $spool->jobs);
        self::assertSame(2, $this->server->client()->lLen('list'));
    }

    public function testWithoutASpoolAnOpenCircuitSaysSo(): void
    {
        $producer = self::producer(self::NOWHERE, ['circuit' => new CircuitBreaker(new ProcessState(), 1, 60000)]);
        $messages = [];
        foreach ([1, 2] as $_) {
            $messages[] = self::failure(static function () use ($producer): void {
                $producer->push('list', []);
            })->getMessage();
        }
        self::assertStringContainsString('connect to', $messages[0]);
        self::assertStringContainsString('/no/such/socket failed several times in a row', $messages[1]);
    }

    public function testOfABulkOnlyTheFirstWriteWaits(): void
    {
        $this->server = new RedisServer();
        $spool = new ListSpool();
        $redis = $this->server->client();
        $redis->setOption(\Redis::OPT_READ_TIMEOUT, '0.2');
        $producer = self::producer($redis, ['spool' => $spool]);
        $this->server->freeze();
        $producer->bulk(static function (Producer $producer): void {
            foreach (\range(1, 100) as $i) {
                $producer->push('list' . $i, '{"job_id":"j-' . $i . '"}');
            }
        });
        $this->server->thaw();
        self::assertCount(100, $spool->jobs);
        Support\Poll::until('the one that was sent is through', function (): bool {
            return $this->server->client()->keys('*') === ['list1'];
        });
    }

    private function producerOfAServerThatHangs(array $options = []): Producer
    {
        $this->server = new RedisServer();
        $producer = self::producer($this->server->url(), $options + ['read_timeout' => 0.2]);
        $producer->later('orders', ['uuid' => 'u-0'], 0);
        $this->server->freeze();
        return $producer;
    }

    private static function producer($redis, array $options = []): Producer
    {
        $options += ['circuit' => new CircuitBreaker(new ProcessState(), 1000), 'read_timeout' => 10.0];
        return Producer::to($redis, $options);
    }

    private static function failure(callable $ask): UnableToEnqueue
    {
        try {
            $ask();
        } catch (UnableToEnqueue $failure) {
            return $failure;
        }
        self::fail('nothing was thrown');
    }
}
