<?php

declare(strict_types=1);

namespace Sidecar\Tests;

/**
 * mode worker: what one job leaves to the next, and what not.
 */
final class WorkerStateTest extends WorkerTestCase
{
    /**
     * @dataProvider states
     */
    public function testAJobFindsWhatTheBootstrapLeft(string $read, string $change, string $bootstrap = ''): void
    {
        $code = $bootstrap . ' function h($job) { echo json_encode(' . $read . '); if ($job["x"]) { ' . $change . ' } }';
        $worker = $this->callWorker('h', $code, [], self::fpm(['extension' => 'mbstring']));
        $first = $worker->run(1, '{"x":1}');
        self::assertSame('done', $first['v'], $first['error']);
        self::assertSame($first['out'], $worker->run(2, '{"x":1}')['out']);
        self::assertSame($first['out'], $worker->run(3, '{"x":0}')['out']);
    }

    public static function states(): array
    {
        $handler = 'set_error_handler(function () { return false; }); restore_error_handler()';
        return [
            'directory' => ['getcwd()', 'chdir("/tmp");'],
            'time zone' => ['date_default_timezone_get()', 'date_default_timezone_set("Asia/Tokyo");'],
            'encoding' => ['mb_internal_encoding()', 'mb_internal_encoding("ISO-8859-1");'],
            'error reporting' => ['error_reporting()', 'error_reporting(0);', 'error_reporting(E_ALL ^ E_NOTICE);'],
            'locale' => ['setlocale(LC_ALL, "0")', 'setlocale(LC_ALL, "C.UTF-8", "C.utf8"); setlocale(LC_CTYPE, "C");',
                'setlocale(LC_ALL, "C.UTF-8", "C.utf8");'],
            'settings' => ['[ini_get("memory_limit"), ini_get("precision"), get_include_path()]',
                'ini_set("memory_limit", "1G"); ini_set("precision", 3); set_include_path("/");'],
            'time limit' => ['ini_get("max_execution_time")', 'set_time_limit(7);'],
            'aborts' => ['ignore_user_abort()', 'ignore_user_abort(false);'],
            'buffers' => ['ob_get_level()', 'ob_start(); ob_start();'],
            'fewer buffers' => ['ob_get_level()', 'ob_end_clean();'],
            'status' => ['http_response_code()', 'http_response_code(302);'],
            'headers' => ['headers_list()', 'header("X-A: b"); setcookie("a", "b");'],
            'last error' => ['error_get_last()', '@trigger_error("x");'],
            'libxml' => ['libxml_use_internal_errors(false)', 'libxml_use_internal_errors(true);'],
            'server' => ['count($_SERVER)', '$_SERVER["X"] = 1; unset($_SERVER["SIDECAR_TOPIC"]);'],
            'request' => ['[$_GET, $_POST, $_COOKIE, $_FILES, $_REQUEST, $_ENV["a"]]',
                '$_GET = $_POST = $_COOKIE = $_FILES = $_REQUEST = $_ENV = [1];', '$_ENV["a"] = "b";'],
            'no error handler' => ['var_export(set_error_handler(null), true) . restore_error_handler()',
                'set_error_handler("strlen"); set_error_handler("strlen"); set_error_handler("trim");'],
            'error handler' => ['var_export(set_error_handler(null), true) . restore_error_handler()',
                'set_error_handler("trim");', 'set_error_handler("strlen");'],
            'error handler taken off' => ['var_export(set_error_handler(null), true) . restore_error_handler()',
                'restore_error_handler();', 'set_error_handler("strlen");'],
            'exception handler' => ['var_export(set_exception_handler(null), true) . restore_exception_handler()',
                'set_exception_handler("trim"); set_exception_handler("trim");', 'set_exception_handler("strlen");'],
        ];
    }

    public function testServerIsOfTheJobInHand(): void
    {
        $code = 'function h() { echo $_SERVER["SIDECAR_TOPIC"], "|", $_SERVER["SIDECAR_UUID"], "|",'
            . ' $_SERVER["SIDECAR_TRIES"], "|", $_SERVER["SIDECAR_CRASHES"], "|", $_SERVER["SIDECAR_TIMEOUT_MS"], "|",'
            . ' abs($_SERVER["SIDECAR_DEADLINE_MS"] - microtime(true) * 1000 - 60000) < 5000 ? "ahead" : "wrong",'
            . ' $_SERVER["REQUEST_TIME"] <= time(), gettype($_SERVER["SIDECAR_TRIES"]); usleep(1000); }';
        $worker = $this->callWorker('h', $code);
        $verdict = $worker->run(1, '{}', ['uuid' => 'a-1', 'tries' => 2, 'crashes' => 3]);
        self::assertJobDone($verdict, 'orders|a-1|2|3|60000|ahead1string');
        self::assertGreaterThan(0.9, $verdict['ms']);
        self::assertGreaterThan(100000, $verdict['mem']);
        self::assertJobDone($worker->run(2, '{}', ['uuid' => 'b']), 'orders|b|0|0|60000|ahead1string');
    }

    public function testTheTokenIsNotInTheGlobals(): void
    {
        $code = 'function h() { echo strpos(serialize([$_SERVER, $_ENV]) . print_r($GLOBALS, true), "' . self::NONCE
            . '") === false ? "hidden" : "seen"; }';
        self::assertJobDone($this->callWorker('h', $code)->run(1, '{}'), 'hidden');
    }

    public function testTheTeamsErrorHandlerSeesTheJobsWarningsAndNoneOfOurs(): void
    {
        $code = 'set_error_handler(function ($no, $text) { echo $text, "|"; return true; });'
            . ' function h() { trigger_error("mine"); @trigger_error("quiet"); }';
        $worker = $this->callWorker('h', $code);
        foreach ([1, 2, 3] as $id) {
            self::assertJobDone($worker->run($id, '{}'), 'mine|quiet|');
        }
    }

    public function testOutputAboveTheLimitIsCountedAndThrownAway(): void
    {
        $code = 'function h($job) { for ($i = 0; $i < 40; $i++) { echo str_repeat("x", $job["n"]); } }';
        $worker = $this->callWorker('h', $code, ['output_limit' => 100, 'memory_limit' => '16M']);
        $verdict = $worker->run(1, '{"n":1000000}');
        self::assertJobDone($verdict, \str_repeat('x', 100));
        self::assertSame(40000000, $verdict['out_size']);
        $verdict = $worker->run(2, '{"n":1}');
        self::assertJobDone($verdict, \str_repeat('x', 40));
        self::assertSame(40, $verdict['out_size']);
        self::assertSame(0, $worker->run(3, '{"n":0}')['out_size'] ?? 0);
    }

    public function testOutputNeverMakesAFrameAboveTheLimit(): void
    {
        $code = 'function h() { echo str_repeat("x", 1 << 20); }';
        $worker = $this->callWorker('h', $code, ['output_limit' => 1 << 20, 'frame_limit' => 200000]);
        $verdict = $worker->run(1, '{}');
        self::assertSame(1 << 20, $verdict['out_size']);
        self::assertGreaterThan(50000, \strlen($verdict['out']));
        self::assertLessThan(150000, \strlen($verdict['out']));
    }

    public function testWhatTheBootstrapPrintsBelongsToNoJob(): void
    {
        $order = ['call' => 'h', 'bootstrap' => self::fpm()->file('<?php echo "noise"; function h() { echo "job"; }')];
        $worker = $this->worker($order);
        $ready = $worker->expect('R');
        self::assertSame('noise', \base64_decode($ready['out'], true));
        self::assertGreaterThan(0, $ready['boot_ms']);
        self::assertJobDone($worker->run(1, '{}'), 'job');
    }

    public function testWarningsAreOnStderrBeforeTheVerdict(): void
    {
        $worker = $this->callWorker('h', 'function h($job) { error_log("from " . $job["x"]); }');
        foreach ([1, 2] as $id) {
            self::assertJobDone($worker->run($id, '{"x":"job' . $id . '"}'));
            self::assertStringContainsString('from job' . $id, $worker->error('from job' . $id));
        }
    }

    public function testFinishingTheRequestHarmsNothing(): void
    {
        $worker = $this->callWorker('h', 'function h() { echo "a"; fastcgi_finish_request(); echo "b"; }');
        $verdict = $worker->run(1, '{}');
        self::assertSame('done', $verdict['v'], $verdict['error']);
        self::assertStringStartsWith('a', $verdict['out']);
        $worker->bye('spoilt');
    }

    /**
     * What one job did to the request's only headers and buffers would be the fault of the next.
     *
     * @dataProvider spoils
     */
    public function testAWorkerWhoseOutputIsSpoiltServesNoOtherJob(string $code): void
    {
        $worker = $this->callWorker('h', 'function h($job) { if ($job["x"]) { ' . $code . ' } }');
        self::assertJobDone($worker->run(1, '{"x":0}'));
        self::assertJobDone($worker->run(2, '{"x":1}'));
        $worker->bye('spoilt');
    }

    public static function spoils(): array
    {
        return [
            'sent headers' => ['while (ob_get_level()) { ob_end_clean(); } echo "x"; flush();'],
            'a buffer that stays' => ['ob_start(null, 0, 0); echo "x";'],
        ];
    }

    public function testABufferOfTheBootstrapsMayStay(): void
    {
        $worker = $this->callWorker('h', 'ob_start(null, 0, 0); function h() { echo "x"; }');
        self::assertJobDone($worker->run(1, '{}'), 'x');
        self::assertJobDone($worker->run(2, '{}'), 'x');
    }

    public function testASessionEndsWithItsJob(): void
    {
        $fpm = self::fpm(['session.save_path' => '{dir}/scratch', 'extension' => 'session']);
        $code = 'function h() { session_start(); echo count($_SESSION), ","; $_SESSION["a"] = 1; echo session_id(); }';
        $worker = $this->callWorker('h', $code, [], $fpm);
        [$count, $id] = \explode(',', $worker->run(1, '{}')['out']);
        [$count2, $id2] = \explode(',', $worker->run(2, '{}')['out']);
        self::assertSame(['0', '0'], [$count, $count2]);
        self::assertNotSame($id, $id2);
        self::assertStringContainsString('a|', (string) \file_get_contents($fpm->scratch('sess_' . $id)));
    }

    /**
     * @dataProvider sessions
     */
    public function testNoSessionIsLeftForTheNextJob(string $code): void
    {
        $fpm = self::fpm(['session.save_path' => '{dir}/scratch', 'extension' => 'session']);
        $worker = $this->callWorker('h', 'function h($job) { echo session_id(), json_encode($_SESSION ?? null);'
            . ' if ($job["x"]) { ' . $code . ' $_SESSION["a"] = 1; } }', [], $fpm);
        self::assertSame('null', $worker->run(1, '{"x":1}')['out']);
        self::assertSame('null', $worker->run(2, '{"x":0}')['out']);
    }

    public static function sessions(): array
    {
        return [
            'none' => [''],
            'left open' => ['session_start();'],
            'closed' => ['session_start(); session_write_close();'],
            'of a chosen id' => ['session_id("chosen"); session_start();'],
            'not writable' => ['session_set_save_handler(new class extends SessionHandler {'
                . ' function write($id, $data): bool { throw new Exception("full"); } }); session_start();'],
        ];
    }

    public function testWhatTheBootstrapCallsTheSessionIsThereForEachJob(): void
    {
        $code = '$_SESSION = ["mine" => 1]; function h() { echo count($_SESSION); $_SESSION[] = 1; }';
        $worker = $this->callWorker('h', $code);
        self::assertSame(['1', '1'], [$worker->run(1, '{}')['out'], $worker->run(2, '{}')['out']]);
    }

    public function testAMethodGetsANewObjectForEachJob(): void
    {
        $code = 'class H { private $n = 0; function h($job) { echo ++$this->n; } function __destruct() { echo "gone"; } }';
        $worker = $this->callWorker('H::h', $code);
        self::assertJobDone($worker->run(1, '{}'), '1gone');
        self::assertJobDone($worker->run(2, '{}'), '1gone');
    }

    public function testWhatAFailureHoldsGoesBeforeTheVerdict(): void
    {
        $code = 'class D { function __destruct() { echo "gone"; } } function g($d) { throw new Exception("x"); }'
            . ' function h($job) { if ($job["x"]) { g(new D()); } return new D(); }';
        $worker = $this->callWorker('h', $code, [], self::fpm(['zend.exception_ignore_args' => '0']));
        $failed = $worker->run(1, '{"x":1}');
        self::assertJob('failed', 'x', $failed);
        self::assertSame('gone', $failed['out']);
        self::assertJobDone($worker->run(2, '{"x":0}'), 'gone');
    }

    public function testThrownVerdictsAreThoseOfModeRequest(): void
    {
        $code = 'class RejectJob extends Exception {} class DeferJob extends Exception { public $delay = 5; }'
            . ' function h($job) { throw $job["x"] ? new RejectJob("no") : new DeferJob("later"); }';
        $worker = $this->callWorker('h', $code);
        self::assertJob('rejected', 'no', $worker->run(1, '{"x":1}'));
        $deferred = $worker->run(2, '{"x":0}');
        self::assertJob('deferred', 'later', $deferred);
        self::assertSame(5000, $deferred['delay_ms']);
        self::assertJob('rejected', 'PHP cannot decode the job', $worker->run(3, '{'));
    }

    public function testAStatusOfAnErrorFailsTheJobAndNotTheNext(): void
    {
        $worker = $this->callWorker('h', 'function h($job) { if ($job["x"]) { http_response_code(500); } }');
        self::assertJob('failed', 'HTTP status 500', $worker->run(1, '{"x":1}'));
        self::assertJobDone($worker->run(2, '{"x":0}'));
    }
}
