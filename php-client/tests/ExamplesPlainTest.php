<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Project;

/**
 * examples/plain.
 */
final class ExamplesPlainTest extends ExampleTestCase
{
    /**
     * @dataProvider calls
     */
    public function testAJobOfTheTeamRuns(string $mode, string $call): void
    {
        $shop = self::project('plain');
        $order = self::order($shop, $call);
        foreach ($this->verdicts($mode, $order, ['{"order_id":42}', '{"order_id":43}']) as $verdict) {
            self::assertJobDone($verdict);
        }
        self::assertSame(['closed', 'closed'], [$shop->status(42), $shop->status(43)]);
    }

    /**
     * @dataProvider modes
     */
    public function testAScriptOfTheTeamRuns(string $mode): void
    {
        $shop = self::project('plain');
        $order = ['script' => $shop->path('jobs/remind.php')];
        foreach ($this->verdicts($mode, $order, ['{"order_id":42}', '{"order_id":43}']) as $verdict) {
            self::assertJobDone($verdict);
        }
        self::assertSame(['reminded', 'reminded'], [$shop->status(42), $shop->status(43)]);
    }

    /**
     * @dataProvider calls
     */
    public function testAFailureIsTheTeams(string $mode, string $call): void
    {
        $order = self::order(self::project('plain'), $call);
        [$failed, $done] = $this->verdicts($mode, $order, ['{"order_id":99}', '{"order_id":42}']);
        self::assertJob('failed', 'no order 99', $failed);
        self::assertStringStartsWith('OutOfBoundsException in ', $failed['trace']);
        self::assertJobDone($done);
    }

    /**
     * @dataProvider modes
     */
    public function testAJobThatLeavesATransactionOpenHasFailed(string $mode): void
    {
        $shop = self::project('plain');
        $order = self::order($shop, 'App\Sidecar\Traces::guarded');
        [$failed, $done] = $this->verdicts($mode, $order, ['{"do":"open"}', '{"do":""}']);
        self::assertJob('failed', 'left a transaction open, its writes are gone', $failed);
        self::assertJobDone($done, 'false');
        self::assertSame('open', $shop->status(42));
    }

    public function testWithoutTheGuardItIsFoundByTheNext(): void
    {
        $order = self::order(self::project('plain'), 'App\Sidecar\Traces::unguarded');
        [, $second] = $this->verdicts('worker', $order, ['{"do":"open"}', '{"do":""}']);
        self::assertJobDone($second, 'true');
    }

    public function testAConnectionThatWasLostIsMadeAnew(): void
    {
        $shop = self::project('plain');
        $order = self::order($shop, 'App\Sidecar\Traces::guarded');
        [$lost, $failed] = $this->verdicts('worker', $order, ['{"do":"lose"}', '{"do":"open"}']);
        self::assertJobDone($lost, 'false');
        self::assertJob('failed', 'left a transaction open', $failed);
        self::assertSame('open', $shop->status(42), 'the transaction was in the shop');
    }

    public static function calls(): array
    {
        return [
            'the class itself, mode request' => ['request', 'App\Jobs\CloseOrder::handle'],
            'the class itself, mode worker' => ['worker', 'App\Jobs\CloseOrder::handle'],
            'guarded, mode worker' => ['worker', 'App\Sidecar\Jobs::closeOrder'],
        ];
    }

    private static function order(Project $shop, string $call): array
    {
        return ['call' => $call, 'bootstrap' => $shop->path('bootstrap.php')];
    }
}
