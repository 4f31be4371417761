<?php

declare(strict_types=1);

namespace Sidecar\Tests;

/**
 * mode worker with script = "...": included job after job, as if each were the first.
 */
final class WorkerScriptTest extends WorkerTestCase
{
    public function testEachJobIsItsOwnGlobalScopeWithNothingOfOurs(): void
    {
        $code = 'echo implode(",", array_diff(array_keys($GLOBALS), ["GLOBALS", "_GET", "_POST", "_COOKIE", "_FILES",'
            . '"_SERVER", "_ENV", "_REQUEST", "argv", "argc"])), "|", $job["x"], "|", $n ?? "new"; $n = $job["x"];'
            . '$o = new stdClass(); if ($n === 2) { throw new Exception("x"); }';
        $worker = $this->scriptWorker($code);
        self::assertJobDone($worker->run(1, '{"x":1}'), 'job|1|new');
        self::assertJob('failed', 'x', $second = $worker->run(2, '{"x":2}'));
        self::assertSame('job|2|new', $second['out']);
        self::assertJobDone($worker->run(3, '{"x":3}'), 'job|3|new');
    }

    public function testWhatTheBootstrapLeftStays(): void
    {
        $bootstrap = self::fpm()->file('<?php $db = new ArrayObject(); $n = 0;');
        $worker = $this->scriptWorker('$db[] = 1; echo count($db), ++$n; unset($n);', ['bootstrap' => $bootstrap]);
        self::assertJobDone($worker->run(1, '{}'), '11');
        self::assertJobDone($worker->run(2, '{}'), '21');
    }

    public function testAnUndecodableTextStillReachesIt(): void
    {
        $worker = $this->scriptWorker('var_dump($job);');
        self::assertJobDone($worker->run(1, "\xE9"), "NULL\n");
        self::assertJobDone($worker->run(2, '{}'), "array(0) {\n}\n");
    }

    public function testServerAndDirectoryAreThoseOfTheScriptForEachJob(): void
    {
        self::fpm()->file('<?php echo "beside";', 'there/beside.php');
        $script = self::fpm()->file(
            '<?php echo basename($_SERVER["SCRIPT_FILENAME"]), $_SERVER["SCRIPT_NAME"]; include "./beside.php"; chdir("/");',
            'there/job.php'
        );
        $worker = $this->readyWorker(['script' => $script]);
        foreach ([1, 2] as $id) {
            self::assertJobDone($worker->run($id, '{}'), 'job.php/job.phpbeside');
        }
    }

    public function testACallableThatItReturnsIsCalledAndTheFileIncludedOnce(): void
    {
        $code = 'function declared() { return 1; } echo "load|"; return static function ($job, $text) {'
            . ' static $n = 0; if ($job["x"] === 3) { throw new Exception("three"); } echo ++$n, $job["x"], $text; };';
        $worker = $this->scriptWorker($code);
        self::assertJobDone($worker->run(1, '{"x":1}'), 'load|11{"x":1}');
        self::assertJobDone($worker->run(2, '{"x":2}'), '22{"x":2}');
        self::assertJob('failed', 'three', $worker->run(3, '{"x":3}'));
        self::assertJobDone($worker->run(4, '{"x":4}'), '34{"x":4}');
    }

    public function testTheCallablesResultIsTheJobs(): void
    {
        $code = 'return function () { return false; };';
        $worker = $this->scriptWorker($code, ['fail_on_false' => true]);
        self::assertJob('failed', 'the handler returned false', $worker->run(1, '{}'));
        self::assertJob('failed', 'the handler returned false', $worker->run(2, '{}'));
    }

    public function testAScriptMayReturnAWordThatIsAFunctionToo(): void
    {
        $worker = $this->scriptWorker('echo "ran"; return "phpinfo";');
        self::assertJobDone($worker->run(1, '{}'), 'ran');
        self::assertJobDone($worker->run(2, '{}'), 'ran');
    }

    /**
     * @dataProvider declarations
     */
    public function testAScriptThatCannotBeIncludedTwiceServesOneJob(string $code): void
    {
        $worker = $this->scriptWorker($code . ' echo "ran";');
        self::assertJobDone($worker->run(1, '{}'), 'ran');
        self::assertSame(1, $worker->bye('redeclare')['jobs']);
    }

    public static function declarations(): array
    {
        return [
            'function' => ['function f() {}'],
            'function with a reference' => ['function &f() { static $a; return $a; }'],
            'class' => ['class C {}'],
            'class below another' => ['final class C extends ArrayObject { function m() { return new class {}; } }'],
            'interface' => ['interface I {}'],
            'trait' => ['trait T {}'],
            'in a namespace' => ['namespace N; use function strlen; function f() {}'],
        ];
    }

    public function testTheBracesOfANamespaceAreNoCondition(): void
    {
        $code = 'namespace { if (1) { function f() {} } echo "ran"; } namespace N { class C {} }';
        $worker = $this->scriptWorker($code, [], self::fpm(['extension' => 'tokenizer']));
        self::assertJobDone($worker->run(1, '{}'), 'ran');
        $worker->bye('redeclare');
    }

    public function testConditionalDeclarationsOfNamespacesAreConditional(): void
    {
        $code = 'namespace A { if (!\\function_exists("A\\\\f")) { function f() {} } }'
            . ' namespace B { if (!\\class_exists("B\\\\C")) { class C {} } echo "ran"; }';
        $worker = $this->scriptWorker($code, [], self::fpm(['extension' => 'tokenizer']));
        self::assertJobDone($worker->run(1, '{}'), 'ran');
        self::assertJobDone($worker->run(2, '{}'), 'ran');
    }

    public function testDeclaringOnConditionIsFine(): void
    {
        $code = 'use function strlen; if (!function_exists("f")) { function f() { return "f"; } }'
            . ' if (!class_exists("C")) { class C { public function function() {} } }'
            . ' $f = function () { return new class { public $h = 1; function g() {} }; }; echo f(), C::class, "{$f()->h}";';
        $worker = $this->scriptWorker($code, [], self::fpm(['extension' => 'tokenizer']));
        foreach ([1, 2, 3] as $id) {
            self::assertJobDone($worker->run($id, '{}'), 'fC1');
        }
    }

    public function testClassesOfOtherFilesAreNoneOfTheScripts(): void
    {
        $lib = self::fpm()->file('<?php class Lib { public static function f() { return "lib"; } }');
        $worker = $this->scriptWorker('require_once ' . \var_export($lib, true) . '; echo Lib::f();');
        self::assertJobDone($worker->run(1, '{}'), 'lib');
        self::assertJobDone($worker->run(2, '{}'), 'lib');
    }

    public function testAnIncludeThatDeclaresTwiceIsToldWhatToDo(): void
    {
        $lib = self::fpm()->file('<?php function again() {}');
        $worker = $this->scriptWorker('require ' . \var_export($lib, true) . ';');
        self::assertJobDone($worker->run(1, '{}'));
        $worker->write(Support\Resident::job(2, '{}'));
        $dead = $worker->dead(2);
        self::assertJob('failed', 'Cannot redeclare again()', $dead);
        self::assertJob('failed', 'use require_once', $dead);
    }

    public function testADestructorRunsBeforeTheVerdict(): void
    {
        $code = 'if (!class_exists("D")) { class D { public $x; function __destruct() { echo "gone";'
            . ' if ($this->x) { throw new Exception("in the end"); } } } } $d = new D(); $d->x = $job["x"];';
        $worker = $this->scriptWorker($code, [], self::fpm(['extension' => 'tokenizer']));
        self::assertJobDone($worker->run(1, '{"x":false}'), 'gone');
        $failed = $worker->run(2, '{"x":true}');
        self::assertJob('failed', 'threw: in the end', $failed);
        self::assertSame('gone', $failed['out']);
        self::assertJobDone($worker->run(3, '{"x":false}'), 'gone');
    }
}
