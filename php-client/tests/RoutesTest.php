<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Resident;

/**
 * mode worker where each job names the code that runs it.
 */
final class RoutesTest extends WorkerTestCase
{
    private const CALL = ['call' => 'h', 'timeout_ms' => 60000];

    /** A worker whose order names no code but a bootstrap, with what older bridges are told. */
    private function routesWorker(string $bootstrap): Resident
    {
        return $this->readyWorker([
            'routes' => true, 'call' => 'no_such_function', 'bootstrap' => self::fpm()->file('<?php ' . $bootstrap),
        ]);
    }

    /** What the frame of a job says that a script with this code is to run. */
    private static function aScript(string $code, string $name = ''): array
    {
        return ['script' => self::fpm()->file('<?php ' . $code, $name), 'timeout_ms' => 60000];
    }

    public function testEachJobGoesToItsTargetInOnePhp(): void
    {
        $worker = $this->routesWorker('$n = 0; function h(array $job) { echo "h", ++$GLOBALS["n"], $job["x"]; }'
            . ' class C { public static function m(string $text) { echo "m", ++$GLOBALS["n"], $text; } }');
        $script = self::aScript('echo "s", ++$n, $job["x"];');
        self::assertJobDone($worker->run(1, '{"x":1}', self::CALL), 'h11');
        self::assertJobDone($worker->run(2, '{"x":2}', $script), 's22');
        self::assertJobDone($worker->run(3, '{"x":3}', ['call' => 'C::m', 'timeout_ms' => 60000]), 'm3{"x":3}');
        self::assertJobDone($worker->run(4, '{"x":4}', $script), 's44');
        self::assertJobDone($worker->run(5, '{"x":5}', self::CALL), 'h55');
        $worker->send('E');
        self::assertSame(5, $worker->bye('end')['jobs']);
    }

    public function testEachScriptKeepsTheCallableThatItReturned(): void
    {
        $worker = $this->routesWorker('');
        $a = self::aScript('function a() {} echo "load|"; return function () { static $n = 0; echo "a", ++$n; };');
        $b = self::aScript('function b() {} echo "load|"; return function () { static $n = 0; echo "b", ++$n; };');
        self::assertJobDone($worker->run(1, '{}', $a), 'load|a1');
        self::assertJobDone($worker->run(2, '{}', $b), 'load|b1');
        self::assertJobDone($worker->run(3, '{}', $a), 'a2');
        self::assertJobDone($worker->run(4, '{}', $b), 'b2');
    }

    public function testAScriptFindsItsOwnPlaceAndACallThatOfTheBootstrap(): void
    {
        $where = 'echo $_SERVER["SCRIPT_FILENAME"], "|", $_SERVER["SCRIPT_NAME"], "|", $_SERVER["PHP_SELF"] ?? "", "|",'
            . ' $_SERVER["DOCUMENT_ROOT"], "|", getcwd();';
        $worker = $this->routesWorker('function h() { ' . $where . ' }');
        $a = self::aScript($where, 'a/a.php');
        $b = self::aScript($where, 'b/b.php');
        $call = $worker->run(1, '{}', self::CALL);
        self::assertJob('done', '', $call);
        self::assertStringStartsWith(self::fpm()->bridge() . '|/bridge.php|', $call['out']);
        foreach ([2 => $a, 3 => $b, 4 => $a] as $id => $target) {
            $path = $target['script'];
            $name = '/' . \basename($path);
            $dir = \dirname($path);
            self::assertJobDone($worker->run($id, '{}', $target), "$path|$name|$name|$dir|$dir");
        }
        self::assertJobDone($worker->run(5, '{}', self::CALL), $call['out']);
    }

    public function testEachJobHasItsOwnTime(): void
    {
        $worker = $this->routesWorker('function h() {'
            . ' echo $_SERVER["SIDECAR_TIMEOUT_MS"], "|", ini_get("max_execution_time"), "|", (int) round($_SERVER["SIDECAR_DEADLINE_MS"] / 1e3 - $_SERVER["REQUEST_TIME_FLOAT"]); }');
        foreach ([5000, 5000, 60000, 5000, 90000, 60000] as $i => $ms) {
            $seconds = \intdiv($ms, 1000);
            self::assertJobDone(
                $worker->run($i + 1, '{}', ['call' => 'h', 'timeout_ms' => $ms]),
                $ms . '|' . ($seconds + 1) . '|' . $seconds
            );
        }
    }

    public function testAScriptsGlobalsGoAndThoseOfACallStay(): void
    {
        $worker = $this->routesWorker('$boot = 1; function h() { $GLOBALS["kept"] = ($GLOBALS["kept"] ?? 0) + 1;'
            . ' echo $GLOBALS["kept"], isset($GLOBALS["mine"]) || isset($GLOBALS["job"]) ? "leak" : ""; }');
        $script = self::aScript('echo $boot, $mine ?? "new"; $mine = 1;');
        self::assertJobDone($worker->run(1, '{}', $script), '1new');
        self::assertJobDone($worker->run(2, '{}', self::CALL), '1');
        self::assertJobDone($worker->run(3, '{}', $script), '1new');
        self::assertJobDone($worker->run(4, '{}', $script), '1new');
        self::assertJobDone($worker->run(5, '{}', self::CALL), '2');
    }

    /**
     * Nobody's fault, as far as anybody can tell; another worker may find it.
     *
     * @dataProvider missing
     */
    public function testAMissingTargetIsUnavailableAndTheWorkerLeaves(array $target, string $error): void
    {
        $worker = $this->routesWorker('function h() {} class C {}');
        self::assertJobDone($worker->run(1, '{}', self::CALL));
        $worker->write(Resident::job(2, '{}', $target) . Resident::job(3, '{}', self::CALL));
        self::assertJob('unavailable', $error, $worker->verdict(2));
        self::assertSame(2, $worker->bye('missing')['jobs']);
    }

    public static function missing(): array
    {
        return [
            'script' => [['script' => '/no/such.php'], 'script /no/such.php: does not exist'],
            'directory' => [['script' => '/etc'], 'script /etc: does not exist'],
            'class' => [['call' => 'No::m'], 'class No does not exist'],
            'method' => [['call' => 'C::m'], 'class C has no method m'],
            'function' => [['call' => 'f'], 'function f does not exist'],
            'nothing' => [[], 'function  does not exist'],
        ];
    }

    /** A class file that cannot be loaded fails jobs of its own route only: it is not looked at before. */
    public function testWhatOneRouteCannotLoadIsNoMatterOfTheOthers(): void
    {
        $worker = $this->routesWorker('function h() {} spl_autoload_register(function ($class) {'
            . ' if ($class === "Bad") { throw new LogicException("cannot be loaded"); } });');
        self::assertJobDone($worker->run(1, '{}', self::CALL));
        self::assertJob('failed', 'cannot be loaded', $worker->run(2, '{}', ['call' => 'Bad::m']));
        self::assertJobDone($worker->run(3, '{}', self::CALL));
    }

    public function testAScriptThatDeclaresEndsTheWorkerWheneverItComes(): void
    {
        $worker = $this->routesWorker('function h() {}');
        $other = self::aScript('echo "other";');
        self::assertJobDone($worker->run(1, '{}', self::CALL));
        self::assertJobDone($worker->run(2, '{}', $other), 'other');
        self::assertJobDone($worker->run(3, '{}', $other), 'other');
        self::assertJobDone($worker->run(4, '{}', self::aScript('function declared() {} echo "once";')), 'once');
        self::assertSame(4, $worker->bye('redeclare')['jobs']);
    }

    public function testAFailingTargetLeavesNothingToTheNext(): void
    {
        $worker = $this->routesWorker('function h(array $job) { throw new Exception("h " . $job["x"]); }');
        $script = self::aScript('if ($job["x"] > 2) { throw new Exception("s " . $job["x"]); } echo "s";');
        self::assertJob('failed', 'h 1', $worker->run(1, '{"x":1}', self::CALL));
        self::assertJobDone($worker->run(2, '{"x":2}', $script), 's');
        self::assertJob('failed', 's 3', $worker->run(3, '{"x":3}', $script));
        self::assertJob('failed', 'h 4', $worker->run(4, '{"x":4}', self::CALL));
        self::assertJob('rejected', 'the job', $worker->run(5, '1', self::CALL));
    }
}
