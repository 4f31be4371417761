<?php

declare(strict_types=1);

namespace Sidecar\Tests\Circuit;

use PHPUnit\Framework\TestCase;
use Sidecar\Circuit\ApcuState;
use Sidecar\Circuit\CircuitBreaker;
use Sidecar\Circuit\CircuitState;
use Sidecar\Circuit\FileState;
use Sidecar\Circuit\ProcessState;

/**
 * What every state promises. APCu is the real one where it is loaded (apc.enable_cli=1), else tests/fake/apcu.php.
 */
final class CircuitStateTest extends TestCase
{
    /** @var string[] */
    private static $files = [];

    public static function setUpBeforeClass(): void
    {
        if (!\extension_loaded('apcu')) {
            require_once __DIR__ . '/../fake/apcu.php';
        }
    }

    public static function tearDownAfterClass(): void
    {
        \array_map('unlink', \array_filter(self::$files, 'file_exists'));
    }

    /**
     * @dataProvider states
     */
    public function testItBeginsClosedAndCounts(CircuitState $state): void
    {
        self::assertSame([0, 0], [$state->failures(), $state->openUntil()]);
        self::assertSame(1, $state->countFailure());
        self::assertSame(2, $state->countFailure());
        self::assertSame([2, 0], [$state->failures(), $state->openUntil()]);
    }

    /**
     * @dataProvider states
     */
    public function testOfManyWhoMoveItOneSucceeds(CircuitState $state): void
    {
        self::assertTrue($state->move(0, 1700000000000));
        self::assertFalse($state->move(0, 1700000005000));
        self::assertSame(1700000000000, $state->openUntil());
        self::assertTrue($state->move(1700000000000, 1700000005000));
        self::assertSame([0, 1700000005000], [$state->failures(), $state->openUntil()]);
    }

    /**
     * @dataProvider states
     */
    public function testAfterAResetItIsAsNew(CircuitState $state): void
    {
        $state->countFailure();
        $state->move(0, 5);
        $state->reset();
        self::assertSame([0, 0], [$state->failures(), $state->openUntil()]);
        self::assertTrue($state->move(0, 7));
        self::assertSame(1, $state->countFailure());
    }

    public static function states(): array
    {
        return [
            'of a process' => [new ProcessState()],
            'in a file' => [self::inFile()],
            'in APCu' => [new ApcuState(\uniqid())],
        ];
    }

    public function testProcessesShareAFile(): void
    {
        $state = self::inFile();
        $code = 'require $argv[1]; $state = new Sidecar\Circuit\FileState($argv[2]);'
            . ' for ($i = 0; $i < 200; $i++) { $state->countFailure(); } echo $state->move(0, 5) ? "moved" : "";';
        $command = [\PHP_BINARY, '-r', $code, __DIR__ . '/../../autoload.php', \end(self::$files)];
        $children = [];
        foreach ([1, 2, 3] as $i) {
            $children[$i] = \proc_open($command, [1 => ['pipe', 'w']], $pipes[$i]);
        }
        $said = '';
        foreach ($children as $i => $child) {
            $said .= \stream_get_contents($pipes[$i][1]);
            \proc_close($child);
        }
        self::assertSame('moved', $said);
        self::assertSame([600, 5], [$state->failures(), $state->openUntil()]);
    }

    public function testADifferentNameIsADifferentState(): void
    {
        $apcu = new ApcuState($name = \uniqid());
        $apcu->countFailure();
        self::assertSame(1, (new ApcuState($name))->failures());
        self::assertSame(0, (new ApcuState($name . '2'))->failures());
        $file = FileState::named($name);
        $file->countFailure();
        self::$files[] = self::directory() . '/' . \sha1($name);
        self::assertFileExists(\end(self::$files));
        self::assertSame(1, FileState::named($name)->failures());
        self::assertSame(0, FileState::named($name . '2')->failures());
        self::assertSame(0700, \fileperms(self::directory()) & 0777);
    }

    public function testAFileThatIsDamagedOrCannotBeWrittenIsNoFailure(): void
    {
        $state = self::inFile();
        \file_put_contents(\end(self::$files), "nonsense \0");
        self::assertSame([0, 0], [$state->failures(), $state->openUntil()]);
        self::assertSame(1, $state->countFailure());
        foreach (['', '/no/such/directory/state'] as $path) {
            $none = new FileState($path);
            self::assertSame(1, $none->countFailure());
            self::assertSame([0, 0], [$none->failures(), $none->openUntil()]);
            self::assertFalse($none->move(0, 5));
            $none->reset();
        }
    }

    public function testTheSharedOneIsSharedByItsName(): void
    {
        $name = \uniqid();
        self::$files[] = self::directory() . '/' . \sha1($name);
        $circuit = CircuitBreaker::shared($name, 1, 60000);
        $circuit->failed();
        self::assertFalse(CircuitBreaker::shared($name, 1, 60000)->allows());
        $circuit->succeeded();
        self::assertTrue(CircuitBreaker::shared($name, 1, 60000)->allows());
    }

    private static function directory(): string
    {
        return \sys_get_temp_dir() . '/sidecar-circuit-' . \posix_geteuid();
    }

    private static function inFile(): FileState
    {
        self::$files[] = \sys_get_temp_dir() . '/circuit-' . \bin2hex(\random_bytes(6));
        return new FileState(\end(self::$files));
    }
}
