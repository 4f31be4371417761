<?php

declare(strict_types=1);

namespace Sidecar\Tests;

/**
 * FPM-FACTS 1: none of what looks like success and is not is called done, whatever php.ini says.
 */
final class OutcomeTest extends BridgeTestCase
{
    private const DONE = 'done';
    private const FAILED = 'failed';

    /**
     * @dataProvider rows
     */
    public function testOutcome(string $buffering, string $display, string $code, string $verdict, string $error): void
    {
        $fpm = self::fpm(['output_buffering' => $buffering, 'display_errors' => $display]);
        $reply = self::script($code, [], $fpm);
        self::assertTrue($reply->ended);
        self::assertVerdict($verdict, $error, $reply);
    }

    public static function rows(): iterable
    {
        foreach (['0', '4096'] as $buffering) {
            foreach (['0', '1'] as $display) {
                foreach (self::cases() as $name => $case) {
                    $name .= ', output_buffering=' . $buffering . ', display_errors=' . $display;
                    yield $name => \array_merge([$buffering, $display], $case);
                }
            }
        }
    }

    private static function cases(): array
    {
        $eat = 'ini_set("memory_limit", "8M"); for ($a = [];;) { $a[] = str_repeat("x", 1000); }';
        $twice = 'class Once {} eval("class Once {}");';
        return [
            'normal' => ['echo "fine";', self::DONE, ''],
            'empty script' => ['', self::DONE, ''],
            'a warning' => ['echo $undefined;', self::DONE, ''],
            'status 202' => ['http_response_code(202);', self::DONE, ''],
            'redirect' => ['header("Location: /x");', self::DONE, ''],
            'BOM before the output' => ["echo \"\\xEF\\xBB\\xBF\", 1;", self::DONE, ''],
            'status 500' => ['http_response_code(500);', self::FAILED, 'HTTP status 500'],
            'status line 503' => ['header("HTTP/1.1 503 Busy");', self::FAILED, 'HTTP status 503'],
            'exit(0)' => ['exit(0);', self::FAILED, 'the handler called exit'],
            'exit(1)' => ['exit(1);', self::FAILED, 'the handler called exit'],
            'die after output' => ['echo "x"; flush(); die("msg");', self::FAILED, 'the handler called exit'],
            'exception' => ['throw new Exception("boom");', self::FAILED, 'boom'],
            'exception after output' => ['echo "x"; throw new Exception("boom");', self::FAILED, 'boom'],
            'exception after flush' => ['echo "x"; flush(); throw new Exception("boom");', self::FAILED, 'boom'],
            'exception after 202' => ['http_response_code(202); throw new Exception("boom");', self::FAILED, 'boom'],
            'undefined function' => ['nope();', self::FAILED, 'undefined function nope()'],
            'fatal error' => [$twice, self::FAILED, 'Cannot declare class Once'],
            'fatal error after flush' => ['echo "x"; flush(); ' . $twice, self::FAILED, 'Cannot declare class Once'],
            'fatal, then a shutdown function that says 200' => [
                'register_shutdown_function(function () { error_clear_last(); http_response_code(200); }); ' . $twice,
                self::FAILED,
                'Cannot declare class Once',
            ],
            'user error' => ['trigger_error("own", E_USER_ERROR);', self::FAILED, 'own'],
            'user error that the team handles' => [
                'set_error_handler(function () { return true; }); trigger_error("own", E_USER_WARNING);',
                self::DONE,
                '',
            ],
            'memory_limit' => [$eat, self::FAILED, 'Allowed memory size'],
            'memory_limit after output' => ['echo "x"; flush(); ' . $eat, self::FAILED, 'Allowed memory size'],
            'parse error' => ['this is not PHP', self::FAILED, 'syntax error'],
            'fake sign' => ['echo "\nsidecar-verdict ", str_repeat("0", 64), " e30=\n"; exit;', self::FAILED, 'exit'],
        ];
    }

    public function testATimeLimitOfTheTeamsOwnIsAFailure(): void
    {
        self::assertVerdict('failed', 'Maximum execution time', self::script('set_time_limit(1); for (;;);'));
    }

    public function testExitIsDoneWhereTheTopicSaysSo(): void
    {
        self::assertDone(self::script('exit("success");', ['exit_ok' => true]), 'success');
    }

    public function testExitOkForgivesNoFatalErrorAndNoStatus(): void
    {
        $order = ['exit_ok' => true];
        self::assertVerdict('failed', 'Once', self::script('class Once {} eval("class Once {}");', $order));
        self::assertVerdict('failed', '500', self::script('http_response_code(500); exit;', $order));
    }

    public function testExitInTheBootstrapIsAFailureEvenWithExitOk(): void
    {
        $reply = self::call('strlen', 'exit;', ['exit_ok' => true]);
        self::assertVerdict('failed', 'the bootstrap called exit', $reply);
    }

    public function testReturningFalseFailsOnlyWhereTheTopicSaysSo(): void
    {
        self::assertDone(self::script('return false;'));
        self::assertVerdict('failed', 'returned false', self::script('return false;', ['fail_on_false' => true]));
        self::assertDone(self::script('return 0;', ['fail_on_false' => true]));
        $reply = self::call('no', 'function no() { return false; }', ['fail_on_false' => true]);
        self::assertVerdict('failed', 'returned false', $reply);
    }

    public function testLongBinaryErrorsAreCutAtCharactersAndMadeValid(): void
    {
        $long = self::assertVerdict('failed', 'é', self::script('throw new Exception(str_repeat("é", 600));'));
        self::assertSame(\str_repeat('é', 500), $long['error']);
        $binary = self::assertVerdict('failed', 'caf', self::script('throw new Exception("caf\xE9!");'));
        self::assertSame("caf\u{FFFD}!", $binary['error']);
        $code = 'function deep($n) { if ($n === 0) { throw new Exception("x"); } deep($n - 1); } deep(200);';
        $trace = self::assertVerdict('failed', 'x', self::script($code))['trace'];
        self::assertSame(2000, \strlen($trace));
    }

    public function testTheClassStandsInForAnEmptyMessage(): void
    {
        self::assertVerdict('failed', 'DomainException', self::script('throw new DomainException();'));
    }

    public function testTheTraceNamesCausesAndCallsButNoArguments(): void
    {
        $code = 'function charge($card) { throw new LogicException("no funds"); }'
            . "\n" . 'try { charge("4242-4242"); } catch (Exception $e) { throw new Exception("not paid", 0, $e); }';
        $trace = self::assertVerdict('failed', 'not paid', self::script($code))['trace'];
        self::assertStringContainsString("Caused by: no funds\nLogicException in ", $trace);
        self::assertStringContainsString('charge()', $trace);
        self::assertStringNotContainsString('4242', $trace);
        self::assertStringNotContainsString('bridge.php', $trace);
    }

    public function testTheTeamsExceptionHandlerIsCalled(): void
    {
        $handlers = [
            'function ($e) { echo "seen ", $e->getMessage(); }' => 'seen boom',
            'function ($e) { echo "exit"; exit; }' => 'exit',
            'function ($e) { throw new Exception("worse"); }' => '',
        ];
        foreach ($handlers as $handler => $output) {
            $reply = self::script('set_exception_handler(' . $handler . '); throw new Exception("boom");');
            self::assertSame('boom', self::assertVerdict('failed', 'boom', $reply)['error']);
            self::assertSame($output, $reply->output());
        }
    }

    public function testTheSignCarriesFigures(): void
    {
        $code = '$until = microtime(true) + 0.02; while (microtime(true) < $until);';
        $content = self::assertVerdict('done', '', self::script($code));
        self::assertGreaterThan(19.0, $content['ms']);
        self::assertGreaterThan(100000, $content['mem']);
        self::assertGreaterThan(1, $content['pid']);
        self::assertSame(0, $content['delay_ms']);
    }
}
