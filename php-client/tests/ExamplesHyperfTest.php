<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Project;

/**
 * examples/hyperf, on the fake framework in tests/fake/hyperf; its pool has one connection.
 */
final class ExamplesHyperfTest extends ExampleTestCase
{
    private const CLEAN = '{"user":null,"locale":"zh_CN","booted":"at the start","transactions":0}';

    /**
     * @dataProvider modes
     */
    public function testAJobOfTheTeamRuns(string $mode): void
    {
        $shop = self::hyperf();
        $order = self::order($shop, 'App\Sidecar\Jobs::closeOrder');
        foreach ($this->verdicts($mode, $order, ['{"order_id":42}', '{"order_id":43}']) as $verdict) {
            self::assertJobDone($verdict);
        }
        self::assertSame(['closed', 'closed'], [$shop->status(42), $shop->status(43)]);
    }

    /**
     * @dataProvider modes
     */
    public function testAFailureIsTheFrameworks(string $mode): void
    {
        $shop = self::hyperf();
        $order = self::order($shop, 'App\Sidecar\Jobs::closeOrder');
        [$failed, $done] = $this->verdicts($mode, $order, ['{"order_id":99}', '{"order_id":42}']);
        self::assertJob('failed', 'No query results for model [App\Model\Order] 99', $failed);
        self::assertStringContainsString('Hyperf\Database\Model\ModelNotFoundException', $failed['trace']);
        self::assertSame(1, \substr_count($shop->log(), '[sidecar] ERROR Hyperf\Database\Model\Model'), $shop->log());
        self::assertJobDone($done);
    }

    /**
     * @dataProvider modes
     */
    public function testWhatAJobLeavesIsGoneForTheNext(string $mode): void
    {
        $order = self::order(self::hyperf(), 'App\Sidecar\Traces::guarded');
        $texts = ['{"open":false}', '{"open":false,"fail":true}', '{"open":false}'];
        [$first, $failed, $third] = $this->verdicts($mode, $order, $texts);
        self::assertJobDone($first, self::CLEAN);
        self::assertJob('failed', 'Call to undefined method', $failed);
        self::assertSame(self::CLEAN, $failed['out']);
        self::assertJobDone($third, self::CLEAN);
    }

    public function testWithoutTheRunnerItIsFoundByTheNext(): void
    {
        $order = self::order(self::hyperf(), 'App\Sidecar\Traces::unguarded');
        [, $second] = $this->verdicts('worker', $order, ['{"open":true}', '{"open":false}']);
        self::assertJobDone($second, '{"user":7,"locale":"ja","booted":"again","transactions":1}');
    }

    /**
     * @dataProvider modes
     */
    public function testAJobThatLeavesATransactionOpenHasFailed(string $mode): void
    {
        $shop = self::hyperf();
        $order = self::order($shop, 'App\Sidecar\Traces::guarded');
        [$failed, $done] = $this->verdicts($mode, $order, ['{"open":true}', '{"open":false}']);
        self::assertJob('failed', 'its writes are gone: database.connection.default', $failed);
        self::assertJobDone($done, self::CLEAN);
        self::assertSame('open', $shop->status(42));
    }

    public function testWithoutTheDeploysScanTheTopicWaitsAndSaysWhy(): void
    {
        $order = self::order(self::project('hyperf'), 'App\Sidecar\Jobs::closeOrder');
        $reply = self::answer(self::shop(), $order, '{"order_id":42}');
        self::assertVerdict('unavailable', 'class App\Sidecar\Jobs does not exist', $reply);
        self::assertStringContainsString('run php bin/hyperf.php at each deploy', $reply->stderr);
        $worker = $this->worker($order, self::shop());
        self::assertJob('unavailable', 'class App\Sidecar\Jobs does not exist', $worker->dead(0));
    }

    private static function hyperf(): Project
    {
        $shop = self::project('hyperf');
        $shop->write('runtime/container/scan.cache', ''); // php bin/hyperf.php at the deploy
        return $shop;
    }

    private static function order(Project $shop, string $call): array
    {
        return ['call' => $call, 'bootstrap' => $shop->path('sidecar/bootstrap.php')];
    }
}
