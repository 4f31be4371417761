<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Connection;
use Sidecar\Tests\Support\Ear;
use Sidecar\Tests\Support\Reply;

/**
 * The sign is the very last thing: nothing that runs after the handler can make a success of a failure, or eat it.
 */
final class EndingTest extends BridgeTestCase
{
    /**
     * @dataProvider endings
     */
    public function testEnding(string $buffering, string $code, string $verdict, string $error, string $output): void
    {
        $reply = self::script($code, [], self::fpm(['output_buffering' => $buffering]));
        self::assertVerdict($verdict, $error, $reply);
        self::assertSame($output, $reply->output());
    }

    public static function endings(): iterable
    {
        foreach (['0', '4096'] as $buffering) {
            foreach (self::cases() as $name => $case) {
                yield $name . ', output_buffering=' . $buffering => \array_merge([$buffering], $case);
            }
        }
    }

    private static function cases(): array
    {
        $throws = 'class D { static $kept; public $self; function __destruct() { throw new Exception("late"); } } ';
        $prints = 'class D { static $kept; function __destruct() { echo "bye"; } } ';
        $exits = 'class D { static $kept; function __destruct() { exit(1); } } ';
        $cycle = '$a = new D; $a->self = $a; unset($a);';
        $atEnd = static function (string $code): string {
            return 'register_shutdown_function(function () { ' . $code . ' });';
        };
        return [
            'a destructor throws' => [$throws . '$d = new D;', 'failed', 'a destructor threw: late in ', ''],
            'in an array' => [$throws . '$d = [[new D]];', 'failed', 'a destructor threw: late', ''],
            'in a cycle' => [$throws . $cycle, 'failed', 'a destructor threw: late', ''],
            'in a static property' => [$throws . 'D::$kept = new D;', 'failed', 'late', ''],
            'in a static cycle' => [$throws . 'D::$kept = [new D]; ' . $cycle, 'failed', 'late', ''],
            'two throw, one prints' => [
                $throws . 'class P { function __destruct() { echo "bye"; } } $x = new D; $y = new P; $z = new D;',
                'failed',
                'late',
                'bye',
            ],
            'a destructor prints' => [$prints . '$d = new D;', 'done', '', 'bye'],
            'a static one prints after the sign' => [$prints . 'D::$kept = new D;', 'done', '', 'bye'],
            'a destructor exits' => [
                'class D { function __destruct() { exit; } } $d = new D;',
                'failed',
                'a shutdown function or destructor called exit',
                '',
            ],
            'a static one exits' => [$exits . 'D::$kept = new D;', 'failed', 'or destructor called exit', ''],
            'a static one exits, created where others were' => [
                $exits . 'for ($i = 0; $i < 99; $i++) { $a[] = new stdClass; } D::$kept = new D;'
                . 'while ($a) { array_pop($a); }',
                'failed',
                'or destructor called exit',
                '',
            ],
            'a static one creates objects' => [
                'class D { static $kept; function __destruct() { self::$kept = [new D2, new D2]; } } class D2 {}'
                . 'D::$kept = new D;',
                'done',
                '',
                '',
            ],
            'a static one ends all buffers' => [
                'class D { static $kept; function __destruct() { while (ob_get_level()) { ob_end_flush(); } } }'
                . 'D::$kept = new D;',
                'done',
                '',
                '',
            ],
            'a destructor needs other globals' => [
                '$config = ["x" => "seen"]; class D { function __destruct() { global $config; echo $config["x"]; } }'
                . '$d = new D;',
                'done',
                '',
                'seen',
            ],
            'shutdown function prints' => [$atEnd('echo "end";'), 'done', '', 'end'],
            'shutdown function throws' => [$atEnd('throw new Exception("late");'), 'failed', 'late', ''],
            'shutdown function exits' => [$atEnd('exit;'), 'failed', 'a shutdown function or', ''],
            'nested shutdown function throws' => [
                $atEnd($atEnd($atEnd('echo "deep"; throw new Exception("late");'))),
                'failed',
                'late',
                'deep',
            ],
            'shutdown function sets a status' => [
                'ob_start();' . $atEnd('http_response_code(503);'),
                'failed',
                'HTTP status 503',
                '',
            ],
            'open output buffers' => ['echo 1; ob_start(); echo 2; ob_start(); echo 3;', 'done', '', '123'],
            'a buffer that swallows' => ['ob_start(function () { return ""; }); echo "x";', 'done', '', ''],
            'a buffer that changes' => ['ob_start(function ($b) { return strrev($b); }); echo "xy";', 'done', '', 'yx'],
            'compression' => ['ob_start("ob_gzhandler"); echo "x";', 'done', '', 'x'],
            'a shutdown function that clears buffers' => [
                $atEnd('while (ob_get_level()) { ob_end_clean(); }') . 'ob_start(); echo "x";',
                'done',
                '',
                '',
            ],
        ];
    }

    public function testAnExitInAShutdownFunctionIsDoneWhereTheTopicSaysSo(): void
    {
        $code = 'register_shutdown_function(function () { echo "end"; exit; });';
        self::assertDone(self::script($code, ['exit_ok' => true]), 'end');
        $code = 'register_shutdown_function(function () { throw new Exception("late"); });';
        self::assertVerdict('failed', 'late', self::script($code, ['exit_ok' => true]));
        $code = 'class D { static $kept; function __destruct() { exit(1); } } D::$kept = new D;';
        self::assertDone(self::script($code, ['exit_ok' => true]));
    }

    /**
     * @dataProvider results
     */
    public function testAResultWhoseCodeHasNotRunIsAFailure(string $body, string $verdict, string $error): void
    {
        $function = 'function gen() { yield 1; yield 2; echo "ran"; } function h() { ' . $body . ' }';
        self::assertVerdict($verdict, $error, self::call('h', $function));
        self::assertVerdict($verdict, $error, self::script($function . ' return h();'));
    }

    public static function results(): array
    {
        return [
            'a generator function' => ['yield 1; echo "ran";', 'failed', 'returned a generator: its code has not run'],
            'a generator' => ['return gen();', 'failed', 'a generator'],
            'one half way' => ['$g = gen(); $g->next(); return $g;', 'failed', 'a generator'],
            'one that is through' => ['$g = gen(); foreach ($g as $x) {} return $g;', 'done', ''],
            'an iterator of values' => ['return new ArrayIterator([1]);', 'done', ''],
        ];
    }

    public function testAFiberThatHasNotEndedIsAFailure(): void
    {
        if (\PHP_VERSION_ID < 80100) {
            self::markTestSkipped('PHP ' . \PHP_VERSION . ' has no fibers');
        }
        $code = '$f = new Fiber(function () { Fiber::suspend(); });';
        self::assertVerdict('failed', 'returned a fiber', self::script($code . ' return $f;'));
        self::assertVerdict('failed', 'returned a fiber', self::script($code . ' $f->start(); return $f;'));
        self::assertDone(self::script($code . ' $f->start(); $f->resume(); return $f;'));
    }

    public function testAnOutputBufferThatThrowsIsAFailure(): void
    {
        $reply = self::script('ob_start(function () { throw new Exception("in buffer"); }); echo "x";');
        self::assertVerdict('failed', 'an output buffer threw: in buffer', $reply);
    }

    public function testAFatalErrorInAShutdownFunctionLeavesNoSign(): void
    {
        $code = 'class Once {} register_shutdown_function(function () { eval("class Once {}"); });';
        $reply = self::script($code);
        self::assertTrue($reply->ended);
        self::assertNull($reply->verdict(self::NONCE));
    }

    public function testTheFirstReasonStays(): void
    {
        $code = 'class D { function __destruct() { throw new Exception("second"); } } $d = new D;'
            . 'register_shutdown_function(function () { trigger_error("a warning", E_USER_WARNING); });'
            . 'throw new Exception("first");';
        self::assertVerdict('failed', 'first', self::script($code));
    }

    public function testAnOpenSessionIsWrittenBeforeTheSign(): void
    {
        $fpm = self::fpm(['session.save_path' => '{dir}/scratch']);
        $code = 'class D { function __destruct() { $_SESSION["n"] = 2; } } ob_start(); session_id("abc123");'
            . 'session_start(); $_SESSION["n"] = 1; $d = new D;';
        self::assertDone(self::script($code, [], $fpm));
        self::assertSame('n|i:2;', \file_get_contents($fpm->scratch('sess_abc123')));
        $code = 'class Bad implements SessionHandlerInterface { function open($p, $n): bool { return true; }'
            . 'function close(): bool { return true; } function destroy($id): bool { return true; }'
            . 'function gc($n): int { return 0; } function read($id): string { return ""; }'
            . 'function write($id, $d): bool { throw new Exception("no space"); } }'
            . 'ob_start(); session_set_save_handler(new Bad, false); session_start(); $_SESSION["n"] = 1;';
        self::assertVerdict('failed', 'writing the session threw: no space', self::script($code, [], $fpm));
    }

    public function testAfterFinishRequestTheSignStillArrivesOnAKeptConnection(): void
    {
        $late = 'class D { static $k; function __destruct() { throw new Exception("late"); } } D::$k = new D;';
        $cases = ['' => 'done', 'throw new Exception("late");' => 'failed', 'exit;' => 'failed', 'echo 1;' => 'done'];
        foreach ($cases + [$late => 'failed'] as $code => $verdict) {
            $fpm = self::fpm();
            $script = $fpm->file('<?php echo "answer"; fastcgi_finish_request(); ' . $code);
            $connection = self::ask($fpm, ['script' => $script]);
            $first = $connection->receive();
            self::assertSame([true, 'answer'], [$first->ended, $first->output()]);
            self::assertNull($first->verdict(self::NONCE));
            // FPM answers the next request on the connection when the script has really ended.
            $check = ['mode' => 'check', 'nonce' => 'another'];
            $connection->send(self::params($fpm, $check, ''), '');
            $second = $connection->receive();
            $connection->close();
            self::assertVerdict($verdict, '', $second);
            self::assertSame('done', $second->verdict('another')['v']);
        }
    }

    public function testAfterFinishRequestOnAClosedConnectionTheVerdictIsReported(): void
    {
        $fpm = self::fpm();
        $ear = new Ear($fpm->fresh());
        foreach (['' => 'done', 'throw new Exception("late");' => 'failed'] as $code => $verdict) {
            $script = $fpm->file('<?php echo "answer"; fastcgi_finish_request(); ' . $code);
            $connection = self::ask($fpm, ['script' => $script, 'socket' => $ear->address()], self::JOB, [], false);
            self::assertTrue($connection->receive()->ended);
            $connection->close();
            self::assertSame($verdict, self::reported($ear)['v']);
        }
        $ear->close();
    }

    public function testABufferThatCannotBeRemovedDoesNotEatTheVerdict(): void
    {
        $fpm = self::fpm();
        $ear = new Ear($fpm->fresh());
        $script = $fpm->file('<?php ob_start(function () { return ""; }, 0, 0); echo "x";');
        $connection = self::ask($fpm, ['script' => $script, 'socket' => $ear->address()]);
        self::assertSame('done', self::reported($ear)['v']);
        self::assertTrue($connection->receive()->ended);
        $connection->close();
        $ear->close();
    }

    private static function reported(Ear $ear): array
    {
        [$word, , $hash, $payload] = \explode(' ', \trim($ear->hear()));
        self::assertSame('REPORT', $word);
        return (array) Reply::open($hash, $payload, self::NONCE);
    }

    public function testAKilledChildLeavesNoSign(): void
    {
        $fpm = self::fpm(['extension' => 'posix']);
        $reply = self::script('echo "x"; flush(); posix_kill(getmypid(), 9);', [], $fpm);
        self::assertFalse($reply->ended);
        self::assertNull($reply->verdict(self::NONCE));
    }

    public function testOutputIsNotHeldBack(): void
    {
        $fpm = self::fpm();
        $go = $fpm->fresh();
        $script = $fpm->file('<?php echo "early"; flush(); error_log("seen", 4); flush();
            while (!file_exists("' . $go . '")) { usleep(1000); clearstatcache(); }');
        $connection = self::ask($fpm, ['script' => $script]);
        self::assertStringEndsWith('early', $connection->receiveError('seen')->stdout);
        \touch($go);
        self::assertTrue($connection->receive()->ended);
        $connection->close();
    }
}
