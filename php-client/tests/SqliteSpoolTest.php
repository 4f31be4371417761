<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Spool\PdoSpool;
use Sidecar\Spool\SpooledJob;
use Sidecar\Spool\UnableToSpool;

final class SqliteSpoolTest extends PdoSpoolTestCase
{
    /** @var string */
    private $dir;

    protected function setUp(): void
    {
        $this->dir = \sys_get_temp_dir() . '/spool-' . \bin2hex(\random_bytes(6));
        \mkdir($this->dir, 0700);
    }

    protected function tearDown(): void
    {
        \array_map('unlink', \glob($this->dir . '/*'));
        \rmdir($this->dir);
    }

    protected function pdo(array $options = []): \PDO
    {
        $pdo = new \PDO('sqlite:' . $this->path(), null, null, $options);
        $pdo->exec('PRAGMA busy_timeout = 5000');
        return $pdo;
    }

    protected function code(): string
    {
        return 'Sidecar\Spool\PdoSpool::sqlite(' . \var_export($this->path(), true) . ')';
    }

    public function testOnlyItsUserCanReadTheFilesAndTheyAreOnTheDisk(): void
    {
        $mask = \umask(0022);
        $spool = PdoSpool::sqlite($this->path());
        self::assertFileDoesNotExist($this->path());
        $spool->add(SpooledJob::forList('l', 'a', 'u'));
        self::assertSame(0022, \umask($mask), 'the mask is the application\'s');
        $files = \glob($this->dir . '/*');
        self::assertContains($this->path() . '-wal', $files);
        foreach ($files as $file) {
            self::assertSame('0600', \sprintf('%04o', \fileperms($file) & 0777), $file);
        }
        self::assertSame('wal', $this->pdo()->query('PRAGMA journal_mode')->fetchColumn());
    }

    public function testIdsOfDeletedRowsDoNotComeAgain(): void
    {
        $spool = PdoSpool::sqlite($this->path());
        $spool->add(SpooledJob::forList('l', 'a', 'u'));
        $this->pdo()->exec('DELETE FROM backup_queue');
        $spool->add(SpooledJob::forList('l', 'b', 'u'));
        self::assertSame(2, (int) $this->pdo()->query('SELECT id FROM backup_queue')->fetchColumn());
    }

    public function testAWriterThatIsInTheWayIsWaitedFor(): void
    {
        PdoSpool::sqlite($this->path())->add(SpooledJob::forList('l', 'a', 'u'));
        $pipes = [];
        $code = '$p = new PDO("sqlite:" . $argv[1]); $p->exec("BEGIN IMMEDIATE"); echo "held\n"; usleep(200000); $p->exec("COMMIT");';
        $process = \proc_open(['php', '-r', $code, '--', $this->path()], [1 => ['pipe', 'w']], $pipes);
        self::assertSame("held\n", \fgets($pipes[1]));
        PdoSpool::sqlite($this->path())->add(SpooledJob::forList('l', 'b', 'u'));
        \proc_close($process);
        self::assertSame(2, (int) $this->pdo()->query('SELECT COUNT(*) FROM backup_queue')->fetchColumn());
    }

    public function testWithoutItsDirectoryNothingIsStored(): void
    {
        $this->expectException(UnableToSpool::class);
        $this->expectExceptionMessage('its directory must exist and be writable');
        PdoSpool::sqlite($this->dir . '/none/spool.sqlite')->add(SpooledJob::forList('l', 'a', 'u'));
    }

    public function testARelativePathWouldBeAnotherOneInEveryRequest(): void
    {
        $this->expectException(\InvalidArgumentException::class);
        PdoSpool::sqlite('spool.sqlite');
    }

    private function path(): string
    {
        return $this->dir . '/spool.sqlite';
    }
}
