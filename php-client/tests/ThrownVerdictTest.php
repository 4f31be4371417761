<?php

declare(strict_types=1);

namespace Sidecar\Tests;

/**
 * What handlers say by throwing, with classes of their own.
 */
final class ThrownVerdictTest extends BridgeTestCase
{
    private const CLASSES = 'namespace App { class RejectJob extends \Exception {} final class Spam extends RejectJob {}
        class DeferJob extends \Exception { public $delay = 90; private $hidden; }
        class InMs extends DeferJob { public function delayMs() { return 1500; } }
        class ByGetter extends DeferJob { public function getDelay() { return 2.5; } }
        class ByMethod extends DeferJob { public function delay() { return "7"; } }
        class Past extends DeferJob { public function delay() { return -3; } }
        class Odd extends DeferJob { public $delay = "soon"; }
        class Says extends \Exception { private $said;
            public function __construct($said) { parent::__construct("own words"); $this->said = $said; }
            public function sidecarVerdict() { return $this->said; } }
        class Chokes extends \Exception { public function sidecarVerdict(): array { throw new \Exception("inner"); } }
        class NotRejectJobAtAll extends \Exception {} } ';

    /**
     * @dataProvider throwables
     */
    public function testVerdict(string $expression, string $verdict, string $error, int $delayMs): void
    {
        $reply = self::script(self::CLASSES . 'namespace { throw new ' . $expression . '; }');
        $content = self::assertVerdict($verdict, $error, $reply);
        self::assertSame($delayMs, $content['delay_ms']);
    }

    public static function throwables(): array
    {
        return [
            'reject' => ['App\RejectJob("bad address")', 'rejected', 'bad address', 0],
            'a child of reject' => ['App\Spam("spam")', 'rejected', 'spam', 0],
            'defer by property, in seconds' => ['App\DeferJob("busy")', 'deferred', 'busy', 90000],
            'defer by delayMs()' => ['App\InMs()', 'deferred', '', 1500],
            'defer by getDelay()' => ['App\ByGetter()', 'deferred', '', 2500],
            'defer by delay()' => ['App\ByMethod()', 'deferred', '', 7000],
            'a negative delay' => ['App\Past()', 'deferred', '', 0],
            'a delay that is no number' => ['App\Odd()', 'deferred', '', 0],
            'another name' => ['App\NotRejectJobAtAll("x")', 'failed', 'x', 0],
            'says rejected' => ['App\Says(["verdict" => "rejected"])', 'rejected', 'own words', 0],
            'says deferred' => ['App\Says(["verdict" => "deferred", "delay_ms" => 250])', 'deferred', 'own words', 250],
            'says done' => ['App\Says(["verdict" => "done"])', 'done', 'own words', 0],
            'says failed, with a text' => ['App\Says(["verdict" => "failed", "error" => "e"])', 'failed', 'e', 0],
            'says nonsense' => ['App\Says(["verdict" => "crashed"])', 'failed', 'own words', 0],
            'says nothing' => ['App\Says(null)', 'failed', 'own words', 0],
            'throws when asked' => ['App\Chokes("x")', 'failed', 'App\Chokes threw: inner in ', 0],
        ];
    }

    public function testAVerdictIsNoErrorForTheTeamsExceptionHandler(): void
    {
        $code = 'namespace { set_exception_handler(function () { echo "seen"; }); throw new App\RejectJob("no"); }';
        $reply = self::script(self::CLASSES . $code);
        self::assertVerdict('rejected', 'no', $reply);
        self::assertSame('', $reply->output());
    }
}
