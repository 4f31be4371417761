<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Project;

/**
 * examples/laravel, on the fake framework in tests/fake/laravel.
 *
 * Where a real one lies (Debian's php-laravel-framework, or what LARAVEL_AUTOLOAD names) all of it runs on that, too.
 */
final class ExamplesLaravelTest extends ExampleTestCase
{
    protected const EXTENSIONS = [
        'ctype', 'dom', 'fileinfo', 'iconv', 'mbstring', 'pdo', 'pdo_sqlite', 'tokenizer',
    ];

    private const DEBIAN = '/usr/share/php/Illuminate/autoload.php';

    /**
     * @dataProvider frameworks
     */
    public function testAJobOfTheTeamRuns(string $mode, string $framework): void
    {
        $shop = self::laravel($framework);
        $order = self::order($shop, 'App\Sidecar\Jobs::closeOrder');
        foreach ($this->verdicts($mode, $order, ['{"order_id":42}', '{"order_id":43,"uuid":"u"}']) as $verdict) {
            self::assertJobDone($verdict);
        }
        self::assertSame(['closed', 'closed'], [$shop->status(42), $shop->status(43)]);
    }

    /**
     * @dataProvider frameworks
     */
    public function testAFailureIsTheFrameworks(string $mode, string $framework): void
    {
        $shop = self::laravel($framework);
        $order = self::order($shop, 'App\Sidecar\Jobs::closeOrder');
        [$failed, $done] = $this->verdicts($mode, $order, ['{"order_id":99}', '{"order_id":42}']);
        self::assertJob('failed', 'No query results for model [App\Order] 99', $failed);
        self::assertStringContainsString('Illuminate\Database\Eloquent\ModelNotFoundException', $failed['trace']);
        self::assertSame('', $failed['out'], 'no page is rendered');
        self::assertJobDone($done);
    }

    /**
     * @dataProvider frameworks
     */
    public function testWhatAJobLeavesIsGoneForTheNext(string $mode, string $framework): void
    {
        $shop = self::laravel($framework);
        $texts = ['{"open":false}', '{"open":false}'];
        $verdicts = $this->verdicts($mode, self::order($shop, 'App\Sidecar\Traces::guarded'), $texts);
        foreach ($verdicts as $verdict) {
            self::assertJobDone($verdict, '{"user":null,"locale":"en\/en","name":"shop","cart":[],"transactions":0}');
        }
        self::assertSame(2, \substr_count($shop->log(), 'handled'), $shop->log());
        self::assertStringNotContainsString('order-42', $shop->log());
    }

    /**
     * @dataProvider laravels
     */
    public function testWithoutTheRunnerItIsFoundByTheNext(string $framework): void
    {
        $shop = self::laravel($framework);
        $texts = ['{"open":true}', '{"open":false}'];
        $verdicts = $this->verdicts('worker', self::order($shop, 'App\Sidecar\Traces::unguarded'), $texts);
        $left = '{"user":7,"locale":"ja\/ja","name":"other shop","cart":["book"],"transactions":1}';
        self::assertJobDone($verdicts[1], $left);
        self::assertStringContainsString('order-42', $shop->log());
    }

    /**
     * @dataProvider frameworks
     */
    public function testAJobThatLeavesATransactionOpenHasFailed(string $mode, string $framework): void
    {
        $shop = self::laravel($framework);
        $order = self::order($shop, 'App\Sidecar\Traces::guarded');
        foreach (['{"open":true}', '{"open":true,"behind":true}'] as $text) {
            [$failed, $done] = $this->verdicts($mode, $order, [$text, '{"open":false}']);
            self::assertJob('failed', 'left a transaction open, its writes are gone: sqlite', $failed);
            self::assertSame('open', $shop->status(42));
            self::assertStringContainsString('"transactions":0', $done['out']);
        }
    }

    /**
     * @dataProvider frameworks
     */
    public function testWhatAJobAsksOfItsQueueTheSidecarDoes(string $mode, string $framework): void
    {
        $shop = self::laravel($framework);
        $order = self::order($shop, 'App\Sidecar\Traces::asks');
        $asks = ['attempts', 'release', 'release at', 'release soon', 'fail', 'error'];
        $texts = \array_map(static function (string $what): string {
            return (string) \json_encode(['what' => $what]);
        }, $asks);
        $verdicts = \array_combine($asks, $this->verdicts($mode, $order, $texts, ['tries' => 2]));
        self::assertJobDone($verdicts['attempts'], '3');
        foreach (['release' => 90000, 'release at' => 3600000, 'release soon' => 1000] as $what => $ms) {
            self::assertJob('deferred', 'released', $verdicts[$what]);
            self::assertEqualsWithDelta($ms, $verdicts[$what]['delay_ms'], 60000);
        }
        self::assertJob('rejected', 'the shop is closed', $verdicts['fail']);
        self::assertSame('told: the shop is closed', $verdicts['fail']['out']);
        self::assertJob('failed', 'Call to undefined method', $verdicts['error']);
        self::assertSame(1, \substr_count($shop->log(), '.ERROR: '), 'only the failure is reported: ' . $shop->log());
    }

    public static function frameworks(): array
    {
        $cases = [];
        foreach (self::laravels() as $name => [$framework]) {
            foreach (self::modes() as $mode => [$value]) {
                $cases[$name . ', ' . $mode] = [$value, $framework];
            }
        }
        return $cases;
    }

    public static function laravels(): array
    {
        $real = (string) (\getenv('LARAVEL_AUTOLOAD') ?: self::DEBIAN);
        return ['fake' => ['']] + (\is_file($real) ? ['real' => [$real]] : []);
    }

    private static function laravel(string $framework): Project
    {
        $shop = self::project('laravel');
        if ($framework !== '') {
            $shop->write('vendor/real.php', '<?php require_once ' . \var_export($framework, true) . ';');
        }
        return $shop;
    }

    private static function order(Project $shop, string $call): array
    {
        return ['call' => $call, 'bootstrap' => $shop->path('sidecar/bootstrap.php')];
    }
}
