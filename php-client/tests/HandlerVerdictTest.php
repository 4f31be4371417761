<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use PHPUnit\Framework\Assert;
use Sidecar\DeferJob;
use Sidecar\RejectJob;
use Sidecar\SidecarException;

/**
 * RejectJob and DeferJob through the bridge, as the sidecar meets them.
 */
final class HandlerVerdictTest extends BridgeTestCase
{
    public function testARejectedJobSaysWhy(): void
    {
        $content = self::throwing('\Sidecar\RejectJob::because("no such order")');
        self::assertVerdict('rejected', 'no such order', $content);
        self::assertVerdict('rejected', 'no such order', self::throwing(
            '\Sidecar\RejectJob::because("no such order", new \LogicException("gone"))'
        ));
    }

    /**
     * @dataProvider delays
     */
    public function testADeferredJobSaysHowLongAndWhy(string $seconds, int $ms, string $error): void
    {
        $content = self::assertVerdict(
            'deferred',
            $error,
            self::throwing('\Sidecar\DeferJob::by(' . $seconds . ', "busy")')
        );
        self::assertSame($ms, $content['delay_ms']);
    }

    public static function delays(): array
    {
        return [
            'seconds' => ['90', 90000, 'busy'],
            'a part of one' => ['1.5', 1500, 'busy'],
            'nothing' => ['0', 5000, 'deferred by 5 s, as it names no delay above 0: busy'],
            'no number' => ['INF', 5000, 'deferred by 5 s, as it names no delay above 0: busy'],
        ];
    }

    public function testTheExampleSaysEachOfThem(): void
    {
        $order = ['script' => self::deployed() . '/examples/handler.php'];
        $answer = static function (string $phone) use ($order) {
            return self::answer(self::fpm(), $order, '{"job_id":"j","payload":{"phone":"' . $phone . '"}}');
        };
        self::assertDone($answer('13800000000'), 'sent');
        self::assertVerdict('rejected', 'no phone number', $answer('x'));
        self::assertVerdict('deferred', 'provider is busy', $answer('0'));
    }

    public function testTheyAreOrdinaryExceptionsForEverybodyElse(): void
    {
        $cause = new \LogicException('cause');
        foreach ([RejectJob::because('why', $cause), DeferJob::by(5, 'why', $cause)] as $thrown) {
            Assert::assertInstanceOf(\RuntimeException::class, $thrown);
            Assert::assertInstanceOf(SidecarException::class, $thrown);
            Assert::assertSame(['why', $cause], [$thrown->getMessage(), $thrown->getPrevious()]);
        }
    }

    private static function throwing(string $expression): Support\Reply
    {
        return self::script('require "' . self::deployed() . '/autoload.php"; throw ' . $expression . ';');
    }

    /** The package where the pool can read it: its user need not see this checkout. */
    private static function deployed(): string
    {
        $root = \dirname(__DIR__);
        $classes = ['src/SidecarException.php', 'src/RejectJob.php', 'src/DeferJob.php'];
        foreach (\array_merge(['autoload.php', 'examples/handler.php'], $classes) as $file) {
            self::fpm()->file((string) \file_get_contents($root . '/' . $file), 'package/' . $file);
        }
        return self::fpm()->path('package');
    }
}
