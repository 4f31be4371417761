<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\InvalidArgument;
use Sidecar\Producer;
use Sidecar\UnableToEncodeJob;

final class ProducerTest extends RedisTestCase
{
    public function testAJobIsDueByRedisTimePlusItsDelay(): void
    {
        $before = $this->now();
        $uuid = self::producer()->later('orders', ['uuid' => 'u-1', 'note' => '订单'], 1.5);
        $after = $this->now();
        self::assertSame('u-1', $uuid);
        $score = $this->score('delay:pool:orders', '{"uuid":"u-1","note":"订单"}');
        self::assertGreaterThanOrEqual($before + 1500, $score);
        self::assertLessThanOrEqual($after + 1500, $score);
    }

    public function testOneWriteIsOneRoundTrip(): void
    {
        $producer = self::producer();
        $producer->later('orders', ['uuid' => 'u-0'], 1); // connects, and brings the script
        $before = (int) $this->redis->info('stats')['total_commands_processed'];
        $producer->later('orders', ['uuid' => 'u-1'], 1);
        $producer->at('orders', ['uuid' => 'u-2'], new \DateTime());
        $producer->push('queue:prod:sms', ['job_id' => 'j-1']);
        $after = (int) $this->redis->info('stats')['total_commands_processed'];
        // the first INFO counts itself for the second, and a script counts the two commands it runs
        self::assertSame(1 + 3 + 2, $after - $before);
    }

    public function testTheScriptIsBroughtAgainToAServerThatForgotIt(): void
    {
        $producer = self::producer();
        $producer->later('orders', ['uuid' => 'u-1'], 0);
        $this->redis->script('flush');
        $producer->later('orders', ['uuid' => 'u-2'], 0);
        self::assertSame(['{"uuid":"u-1"}', '{"uuid":"u-2"}'], $this->content()['delay:pool:orders']);
    }

    public function testATopicInSecondsGetsSeconds(): void
    {
        $producer = self::producer(['topics' => ['orders' => ['score_unit' => 's']]]);
        $producer->later('orders', ['uuid' => 'u-1'], 60);
        self::assertEqualsWithDelta($this->now() / 1000 + 60, $this->score('delay:pool:orders', '{"uuid":"u-1"}'), 30);
        $producer->at('orders', ['uuid' => 'u-2'], new \DateTimeImmutable('2030-01-01 00:00:00.045 UTC'));
        self::assertSame(1893456000.045, $this->score('delay:pool:orders', '{"uuid":"u-2"}'));
    }

    public function testATimeIsWrittenToTheMillisecond(): void
    {
        $producer = self::producer();
        $producer->at('orders', ['uuid' => 'u-1'], new \DateTime('2030-01-01 01:00:00.0459', new \DateTimeZone('+01:00')));
        self::assertSame(1893456000045.0, $this->score('delay:pool:orders', '{"uuid":"u-1"}'));
    }

    public function testAJobOfAListIsPushedToTheLeft(): void
    {
        $producer = self::producer();
        self::assertSame('j-1', $producer->push('queue:prod:sms', '{"job_id":"j-1"}'));
        self::assertSame('j-2', $producer->push('queue:prod:sms', '{"job_id":"j-2"}'));
        self::assertSame(['queue:prod:sms' => ['{"job_id":"j-2"}', '{"job_id":"j-1"}']], $this->content());
        self::assertSame('{"job_id":"j-1"}', $this->redis->rPop('queue:prod:sms'));
    }

    public function testAJobOfAListIsOfTheTypeThatTheKeyNames(): void
    {
        self::producer()->push('queue:v2:prod:send_sms', ['job_id' => 'j', 'created_at' => 5]);
        self::assertSame(
            ['{"job_id":"j","created_at":5,"type":"send_sms","payload":{},"retry_count":0,"max_retry":3}'],
            $this->content()['queue:v2:prod:send_sms']
        );
        self::producer()->push('sms', ['job_id' => 'j', 'payload' => ['to' => 1]]);
        $job = \json_decode($this->redis->rPop('sms'), true);
        self::assertSame('sms', $job['type']);
        self::assertEqualsWithDelta(\time(), $job['created_at'], 60);
    }

    public function testTheShardIsChosenByTheNameOrByWhatIsGiven(): void
    {
        $producer = self::producer(['lists' => ['queue:prod:sms' => ['shards' => 8]]]);
        $ids = ['ord_1', 'ord_2', 'é', '42', 'x'];
        foreach ($ids as $id) {
            $producer->push('queue:prod:sms', '{"job_id":"' . $id . '"}');
            $list = 'queue:prod:sms_' . \crc32($id) % 8;
            self::assertSame('{"job_id":"' . $id . '"}', $this->redis->rPop($list), $list);
        }
        $producer->push('queue:prod:sms', '{"job_id":"j"}', 'ord_1');
        self::assertSame('{"job_id":"j"}', $this->redis->rPop('queue:prod:sms_' . \crc32('ord_1') % 8));
    }

    public function testOneShardIsAShardAndNoneIsTheListItself(): void
    {
        $producer = self::producer(['lists' => ['a' => ['shards' => 1], 'b' => ['shards' => 0]]]);
        $producer->push('a', '{"job_id":"j"}');
        $producer->push('b', '{"job_id":"j"}');
        self::assertSame(['a_0', 'b'], \array_keys($this->content()));
    }

    public function testManyJobsKeepTheirOrderAndTheirKeys(): void
    {
        $producer = self::producer(['topics' => ['s' => ['score_unit' => 's']]]);
        $jobs = [];
        foreach (\range(1, 1234) as $i) {
            $jobs['k' . $i] = '{"uuid":"' . \sha1((string) $i) . '"}'; // not in the order of their bytes
        }
        foreach (['ms', 's'] as $topic) {
            $uuids = $producer->laterMany($topic, $jobs, 0);
            self::assertSame(\array_keys($jobs), \array_keys($uuids));
            self::assertSame(\sha1('7'), $uuids['k7']);
            self::assertSame(\array_values($jobs), $this->redis->zRange('delay:pool:' . $topic, 0, -1));
        }
    }

    public function testManyJobsOfAListComeOutInOrder(): void
    {
        $producer = self::producer(['lists' => ['sharded' => ['shards' => 3]]]);
        $jobs = \array_map(static function (int $i): string {
            return '{"job_id":"j-' . $i . '"}';
        }, \range(1, 1234));
        $producer->pushMany('list', $jobs);
        self::assertSame($jobs, \array_reverse($this->content()['list']));
        $uuids = $producer->pushMany('sharded', $jobs, static function (string $job): string {
            return \json_decode($job, true)['job_id'];
        });
        self::assertSame('j-1', $uuids[0]);
        foreach (\range(0, 2) as $shard) {
            $wanted = \array_filter($jobs, static function (string $job) use ($shard): bool {
                return \crc32(\json_decode($job, true)['job_id']) % 3 === $shard;
            });
            self::assertSame(\array_values($wanted), \array_reverse($this->content()['sharded_' . $shard]));
        }
    }

    public function testABulkTakesFewRoundTrips(): void
    {
        $producer = self::producer();
        $producer->later('orders', ['uuid' => 'u-0'], 1);
        $before = (int) $this->redis->info('stats')['total_commands_processed'];
        $producer->pushMany('list', \array_fill(0, 1000, '{"job_id":"j"}'));
        self::assertSame(1 + 2, (int) $this->redis->info('stats')['total_commands_processed'] - $before);
    }

    public function testABulkOfLongJobsIsCutIntoScriptsThatDoNotHoldUpOthers(): void
    {
        $producer = self::producer();
        $jobs = \array_fill(0, 10, '{"job_id":"j","pad":"' . \str_repeat('x', 200000) . '"}');
        $before = (int) $this->redis->info('stats')['total_commands_processed'];
        $producer->pushMany('list', $jobs);
        self::assertGreaterThanOrEqual(1 + 5, (int) $this->redis->info('stats')['total_commands_processed'] - $before);
        self::assertSame(10, $this->redis->lLen('list'));
    }

    public function testABulkOfAllKinds(): void
    {
        $uuids = self::producer()->bulk(static function (Producer $producer): void {
            $producer->push('list', '{"job_id":"j-1"}');
            $producer->later('orders', '{"uuid":"u-1"}', 5);
            $producer->bulk(static function (Producer $inner): void {
                $inner->at('orders', '{"uuid":"u-2"}', new \DateTime('@5'));
            });
            $producer->pushMany('list', ['{"job_id":"j-2"}']);
        });
        self::assertSame(['j-1', 'u-1', 'u-2', 'j-2'], $uuids);
        self::assertSame([
            'delay:pool:orders' => ['{"uuid":"u-2"}', '{"uuid":"u-1"}'],
            'list' => ['{"job_id":"j-2"}', '{"job_id":"j-1"}'],
        ], $this->content());
    }

    public function testOfABulkThatIsNotCompletedNothingGoesOut(): void
    {
        try {
            self::producer()->bulk(static function (Producer $producer): void {
                $producer->push('list', '{"job_id":"j-1"}');
                $producer->later('orders', ['price' => \NAN], 5);
            });
            self::fail('nothing was thrown');
        } catch (UnableToEncodeJob $refused) {
            self::assertSame([], $this->content());
        }
    }

    public function testNoJobsAreNoWork(): void
    {
        $producer = self::producer([], 'unix:///no/such/socket');
        self::assertSame([], $producer->pushMany('list', []));
        self::assertSame([], $producer->bulk(static function (): void {
        }));
    }

    /**
     * @dataProvider nonsense
     */
    public function testWhatCannotBeMeantIsRefused(callable $ask, string $why): void
    {
        $this->expectException(InvalidArgument::class);
        $this->expectExceptionMessage($why);
        $ask(self::producer());
    }

    public static function nonsense(): array
    {
        $later = static function ($delay): callable {
            return static function (Producer $producer) use ($delay): void {
                $producer->later('orders', [], $delay);
            };
        };
        return [
            'a delay below 0' => [$later(-0.1), 'from 0 s to 100 years, not -0.1 s'],
            'a delay that is none' => [$later(\NAN), 'not NAN s'],
            'an endless delay' => [$later(\INF), 'not INF s'],
            'a due time for a delay' => [$later(1893456000000), 'not 1893456000000 s'],
            'a text' => [$later('30s'), 'a number of seconds, not string'],
            'no topic' => [static function (Producer $producer): void {
                $producer->later('', [], 1);
            }, 'a topic has a name'],
            'no list' => [static function (Producer $producer): void {
                $producer->push('', []);
            }, 'a list has a key'],
            'before the epoch' => [static function (Producer $producer): void {
                $producer->at('orders', [], new \DateTime('1969-12-31'));
            }, 'after 1970'],
        ];
    }
}
