<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Project;

/**
 * examples/thinkphp, on the fake framework in tests/fake/thinkphp.
 */
final class ExamplesThinkPhpTest extends ExampleTestCase
{
    private const CLEAN = '{"seen":0,"user":null,"language":"zh-cn","name":"shop","transaction":false}';

    /**
     * @dataProvider modes
     */
    public function testAJobOfTheTeamRuns(string $mode): void
    {
        $shop = self::project('thinkphp');
        $order = self::order($shop, 'app\sidecar\Jobs::closeOrder');
        foreach ($this->verdicts($mode, $order, ['{"order_id":42}', '{"order_id":43}']) as $verdict) {
            self::assertJobDone($verdict);
        }
        self::assertSame(['closed', 'closed'], [$shop->status(42), $shop->status(43)]);
        self::assertSame("[info] closed order 42\n[info] closed order 43\n", $shop->log());
    }

    /**
     * @dataProvider modes
     */
    public function testAFailureIsTheFrameworks(string $mode): void
    {
        $shop = self::project('thinkphp');
        $order = self::order($shop, 'app\sidecar\Jobs::closeOrder');
        [$failed, $done] = $this->verdicts($mode, $order, ['{"order_id":99}', '{"order_id":42}']);
        self::assertJob('failed', 'no order 99', $failed);
        self::assertStringContainsString('think\db\exception\DataNotFoundException', $failed['trace']);
        self::assertSame('', $failed['out'], 'no page is rendered');
        self::assertJobDone($done);
    }

    /**
     * @dataProvider modes
     */
    public function testAFailureIsReportedWithoutEndingTheWorker(string $mode): void
    {
        $shop = self::project('thinkphp');
        $order = self::order($shop, 'app\sidecar\Traces::guarded');
        [$failed, $done] = $this->verdicts($mode, $order, ['{"open":0,"fail":true}', '{"open":0}']);
        self::assertJob('failed', 'Call to undefined method', $failed);
        self::assertSame(self::CLEAN, $failed['out']);
        self::assertJobDone($done, self::CLEAN);
        self::assertSame(1, \substr_count($shop->log(), '[error] Call to undefined method'), $shop->log());
    }

    /**
     * @dataProvider modes
     */
    public function testWhatAJobLeavesIsGoneForTheNext(string $mode): void
    {
        $shop = self::project('thinkphp');
        $order = self::order($shop, 'app\sidecar\Traces::guarded');
        foreach ($this->verdicts($mode, $order, ['{"open":0}', '{"open":0}']) as $verdict) {
            self::assertJobDone($verdict, self::CLEAN);
        }
        self::assertSame("[info] handled\n[info] handled\n", $shop->log());
    }

    public function testWithoutTheRunnerItIsFoundByTheNext(): void
    {
        $shop = self::project('thinkphp');
        $order = self::order($shop, 'app\sidecar\Traces::unguarded');
        [, $second] = $this->verdicts('worker', $order, ['{"open":1}', '{"open":0}']);
        self::assertJobDone($second, '{"seen":1,"user":7,"language":"en-us","name":"other shop","transaction":true}');
        self::assertSame('', $shop->log(), 'lines wait for the HTTP kernel');
    }

    /**
     * @dataProvider modes
     */
    public function testAJobThatLeavesATransactionOpenHasFailed(string $mode): void
    {
        $shop = self::project('thinkphp');
        $order = self::order($shop, 'app\sidecar\Traces::guarded');
        [$failed, $done] = $this->verdicts($mode, $order, ['{"open":2}', '{"open":0,"commit":true}']);
        self::assertJob('failed', 'left a transaction open, its writes are gone: sqlite', $failed);
        self::assertJobDone($done, self::CLEAN);
        self::assertSame(['open', 'kept'], [$shop->status(42), $shop->status(43)]);
    }

    private static function order(Project $shop, string $call): array
    {
        return ['call' => $call, 'bootstrap' => $shop->path('sidecar/bootstrap.php')];
    }
}
