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
        class Hidden extends \Other\DeferJob { private $delay = 20; }
        class Past extends DeferJob { public function delay() { return -3; } }
        class InMsByProperty extends DeferJob { protected $delayMs = 1500; }
        class Inherits extends Hidden {}
        class Untold extends \Other\DeferJob {}
        class Any extends \Other\DeferJob { private $delay;
            public function __construct($delay) { parent::__construct("later"); $this->delay = $delay; } }
        class Says extends \Exception { private $said;
            public function __construct($said) { parent::__construct("own words"); $this->said = $said; }
            public function sidecarVerdict() { return $this->said; } }
        class Chokes extends \Exception { public function sidecarVerdict(): array { throw new \Exception("inner"); } }
        class NotRejectJobAtAll extends \Exception {} }
        namespace Other { class DeferJob extends \Exception {} } ';
    private const FLOOR = 'deferred by 5 s, as it names no delay above 0: later';

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
            'defer by protected $delayMs' => ['App\InMsByProperty()', 'deferred', '', 1500],
            'defer by private $delay' => ['App\Any(30)', 'deferred', 'later', 30000],
            'a parent\'s private $delay' => ['App\Inherits()', 'deferred', '', 20000],
            'a number in a text' => ['App\Any("2.5")', 'deferred', 'later', 2500],
            'a part of a millisecond' => ['App\Any(0.0001)', 'deferred', 'later', 1],
            'a negative delay by method' => ['App\Past()', 'deferred', 'deferred by 5 s, as it ', 5000],
            'no delay' => ['App\Untold("later")', 'deferred', self::FLOOR, 5000],
            'a delay of null' => ['App\Any(null)', 'deferred', self::FLOOR, 5000],
            'of 0' => ['App\Any(0)', 'deferred', self::FLOOR, 5000],
            'below 0' => ['App\Any(-100)', 'deferred', self::FLOOR, 5000],
            'with a unit' => ['App\Any("30s")', 'deferred', self::FLOOR, 5000],
            'that is an array' => ['App\Any([30])', 'deferred', self::FLOOR, 5000],
            'that is an object' => ['App\Any(new DateInterval("PT30S"))', 'deferred', self::FLOOR, 5000],
            'that is true' => ['App\Any(true)', 'deferred', self::FLOOR, 5000],
            'NAN' => ['App\Any(NAN)', 'deferred', self::FLOOR, 5000],
            'INF' => ['App\Any(INF)', 'deferred', self::FLOOR, 5000],
            'INF as a text' => ['App\Any("1e999")', 'deferred', self::FLOOR, 5000],
            'of more than a year' => ['App\Any("1e300")', 'deferred', 'by a year at most: later', 31536000000],
            'of a year' => ['App\Any(31536000)', 'deferred', 'later', 31536000000],
            'says deferred, by nothing' => ['App\Says(["verdict" => "deferred"])', 'deferred', 'as it names no', 5000],
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
