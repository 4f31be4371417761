<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Resident;

/**
 * mode worker: what ends a worker, and what becomes of the job in hand then.
 */
final class WorkerEndingTest extends WorkerTestCase
{
    /**
     * @dataProvider endings
     */
    public function testTheJobInHandGetsItsVerdictWhenTheWorkerDies(string $code, string $error, string $limit = ''): void
    {
        $bootstrap = 'function h($job) { if ($job["x"]) { echo "before"; ' . $code . ' } }';
        $worker = $this->callWorker('h', $bootstrap, ['memory_limit' => $limit]);
        self::assertJobDone($worker->run(1, '{"x":0}'));
        $worker->write(Resident::job(2, '{"x":1}') . Resident::job(3, '{"x":0}'));
        $verdict = $worker->dead(2);
        self::assertJob('failed', $error, $verdict);
        // PHP itself throws buffers away when memory is used up.
        self::assertSame($limit === '' ? 'before' : '', $verdict['out']);
    }

    public static function endings(): array
    {
        return [
            'exit' => ['exit(0);', 'the handler called exit'],
            'die' => ['die();', 'the handler called exit'],
            'fatal error' => ['eval("class C {} class C {}");', 'Cannot declare class C'],
            'user error' => ['trigger_error("own", E_USER_ERROR);', 'own'],
            'memory' => ['$s = "x"; while (true) { $s .= $s; }', 'Allowed memory size', '32M'],
            'many small blocks' => ['$a = []; while (true) { $a[] = new stdClass(); }', 'Allowed memory size', '32M'],
            'time' => ['set_time_limit(1); while (true);', 'Maximum execution time of 1 second'],
            'exception handler' => [
                'set_exception_handler(function () { exit; }); throw new Exception("thrown");',
                'thrown',
            ],
            'destructor' => [
                '$GLOBALS["o"] = new class { function __destruct() { exit; } }; unset($GLOBALS["o"]);',
                'the handler called exit',
            ],
        ];
    }

    public function testTheBudgetOfTimeIsTheJobsAndNotTheWorkers(): void
    {
        $code = 'function h() { $end = microtime(true) + 0.8; while (microtime(true) < $end); echo ini_get("max_execution_time"); }';
        $worker = $this->callWorker('h', $code, ['timeout_ms' => 500]);
        foreach ([1, 2, 3] as $id) {
            self::assertJobDone($worker->run($id, '{}'), '2');
        }
    }

    public function testExitIsASuccessWhereTheTopicSaysSo(): void
    {
        $worker = $this->callWorker('h', 'function h() { echo "success"; exit; }', ['exit_ok' => true]);
        $worker->write(Resident::job(7, '{}'));
        self::assertJobDone($worker->dead(7), 'success');
    }

    public function testExitWithAnErrorStatusIsNone(): void
    {
        $worker = $this->callWorker('h', 'function h() { http_response_code(500); exit; }', ['exit_ok' => true]);
        $worker->write(Resident::job(7, '{}'));
        self::assertJob('failed', 'HTTP status 500', $worker->dead(7));
    }

    public function testTheRequestEndsWithTheWorker(): void
    {
        $worker = $this->callWorker('h', 'function h() { exit; }');
        $worker->write(Resident::job(1, '{}'));
        $worker->dead(1);
        self::assertTrue($worker->reply()->ended);
    }

    /**
     * @dataProvider bootstraps
     */
    public function testAWorkerThatCannotStartSaysWhy(string $code, string $verdict, string $error): void
    {
        $worker = $this->worker(['call' => 'h', 'bootstrap' => self::fpm()->file('<?php ' . $code)]);
        self::assertJob($verdict, $error, $worker->dead(0));
        self::assertTrue($worker->reply()->ended);
    }

    public static function bootstraps(): array
    {
        return [
            'throws' => ['throw new Exception("no db");', 'failed', 'the bootstrap threw: no db in '],
            'exits' => ['exit;', 'failed', 'the bootstrap called exit'],
            'fatal' => ['class C {} class C {}', 'failed', 'Cannot declare class C'],
            'no handler' => ['', 'unavailable', 'function h does not exist'],
        ];
    }

    public function testMissingFilesAreNobodysFailure(): void
    {
        foreach (['script', 'bootstrap'] as $role) {
            $worker = $this->worker([$role => '/nowhere/x.php', 'call' => $role === 'script' ? '' : 'strlen']);
            self::assertJob('unavailable', $role . ' /nowhere/x.php: ', $worker->dead(0));
            $this->tearDown();
        }
    }

    public function testAWorkerThatCannotConnectSaysSoInItsReply(): void
    {
        $request = self::request(self::fpm(), ['call' => 'strlen', 'socket' => 'unix:///nowhere/x.sock']);
        self::assertVerdict('unavailable', 'cannot connect to unix:///nowhere/x.sock', $request->receive());
        $request->close();
    }

    public function testItLeavesAfterSoManyJobs(): void
    {
        $worker = $this->callWorker('h', 'function h() {}', ['max_jobs' => 3]);
        for ($id = 1; $id <= 5; $id++) {
            $worker->write(Resident::job($id, '{}'));
        }
        foreach ([1, 2, 3] as $id) {
            self::assertJobDone($worker->verdict($id));
        }
        self::assertSame(3, $worker->bye('max_jobs')['jobs']);
    }

    public function testItLeavesWhenItHasGrownTooLargeAndNotForGarbage(): void
    {
        $code = 'function h($job) { $o = new stdClass(); $o->self = $o; $o->s = str_repeat("x", 1 << 20);'
            . ' if ($job["keep"]) { $GLOBALS["kept"][] = $o; } }';
        $worker = $this->callWorker('h', $code, ['max_memory' => 24 << 20]);
        for ($id = 1; $id <= 100; $id++) {
            self::assertJobDone($worker->run($id, '{"keep":false}'));
        }
        for ($last = 100; $last < 200; $last++) {
            $worker->write(Resident::job($last + 1, '{"keep":true}'));
            [$type] = $frame = $worker->receive();
            if ($type !== 'V') {
                break;
            }
        }
        self::assertSame('B', $type);
        self::assertSame(['why' => 'max_memory', 'jobs' => $last], \json_decode($frame[1], true));
        self::assertLessThan(130, $last);
    }

    public function testItLeavesWhenTheSidecarHasGone(): void
    {
        $worker = $this->callWorker('h', 'function h() {}');
        self::assertJobDone($worker->run(1, '{}'));
        $worker->write(Resident::job(2, '{}'));
        $worker->hangUp();
        self::assertTrue($worker->reply()->ended);
    }

    public function testAFrameAboveTheLimitEndsTheConnection(): void
    {
        $worker = $this->callWorker('h', 'function h() {}', ['frame_limit' => 1000]);
        $worker->write(Resident::job(1, \str_repeat('x', 2000)));
        $worker->expectEnd();
        self::assertTrue($worker->reply()->ended);
    }

    public function testAJobTooLargeForPhpIsTheOneThatFails(): void
    {
        $worker = $this->callWorker('h', 'function h() {}', ['memory_limit' => '8M']);
        self::assertJobDone($worker->run(1, '{}'));
        $frame = Resident::job(2, \str_repeat('x', 20 << 20));
        $worker->write(\substr($frame, 0, 100));
        try {
            $worker->write(\substr($frame, 100));
        } catch (\RuntimeException $stopped) {
            self::assertSame('the worker does not read', $stopped->getMessage());
        }
        self::assertJob('failed', 'Allowed memory size', $worker->dead(2));
    }

    public function testAHandlerThatClosesAllStreamsIsToldSo(): void
    {
        $worker = $this->callWorker('h', 'function h() { array_map("fclose", get_resources("stream")); }');
        $worker->write(Resident::job(1, '{}') . Resident::job(2, '{}'));
        $worker->expectEnd();
        $reply = $worker->reply();
        self::assertTrue($reply->ended);
        self::assertStringContainsString('has closed the connection of its worker', $reply->stderr);
        self::assertStringNotContainsString('Uncaught', $reply->stderr);
    }

    public function testShutdownFunctionsOfJobsRunWhenTheWorkerEnds(): void
    {
        $mark = self::fpm()->fresh();
        $code = 'function h() { register_shutdown_function(function () { file_put_contents("' . $mark . '", "x", 8); }); }';
        $worker = $this->callWorker('h', $code);
        self::assertJobDone($worker->run(1, '{}'));
        self::assertJobDone($worker->run(2, '{}'));
        self::assertFileDoesNotExist($mark);
        $worker->send('E');
        $worker->bye('end');
        self::assertTrue($worker->reply()->ended);
        self::assertSame('xx', \file_get_contents($mark));
    }
}
