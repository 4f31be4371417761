<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use PHPUnit\Framework\TestCase;
use Sidecar\SidecarException;
use Sidecar\Spool\PdoSpool;
use Sidecar\Spool\SpooledJob;
use Sidecar\Spool\UnableToSpool;

/**
 * What a spool promises, whichever database it is in.
 */
abstract class PdoSpoolTestCase extends TestCase
{
    private const BYTES = "\x00\xff'\"\\%_\r\n\x1a {\"name\":\"超时关单\"}\xe4\xb8";

    /** A connection to an empty database. */
    abstract protected function pdo(array $options = []): \PDO;

    /** PHP code that makes a PdoSpool, for other processes. */
    abstract protected function code(): string;

    public function testARowHasEveryByteAndItsTime(): void
    {
        $before = (int) (\microtime(true) * 1000);
        $spool = new PdoSpool($this->pdo());
        $spool->add(SpooledJob::dueAt('delay:pool:' . self::BYTES, self::BYTES, 'u-1', 1732900000123));
        $spool->add(SpooledJob::dueIn('delay:pool:mail', '', 'u-2', 5000));
        $spool->add(SpooledJob::forList('queue:prod:sms_3', self::BYTES, self::BYTES . \str_repeat('x', 300)));
        $after = (int) (\microtime(true) * 1000) + 1;

        $rows = $this->rows();
        self::assertSame(['pool', 'pool', 'list'], \array_column($rows, 'kind'));
        self::assertSame(['delay:pool:' . self::BYTES, 'delay:pool:mail', 'queue:prod:sms_3'], \array_column($rows, 'queue_key'));
        self::assertSame([self::BYTES, '', self::BYTES], \array_column($rows, 'text'));
        self::assertSame(['u-1', 'u-2', \substr(self::BYTES . \str_repeat('x', 300), 0, 255)], \array_column($rows, 'uuid'));
        self::assertSame(1732900000123, (int) $rows[0]['due_ms']);
        self::assertThat((int) $rows[1]['due_ms'], self::logicalAnd(
            self::greaterThanOrEqual($before + 5000),
            self::lessThanOrEqual($after + 5000)
        ));
        self::assertNull($rows[2]['due_ms']);
        self::assertGreaterThanOrEqual($before, (int) $rows[2]['created_at']);
        self::assertCount(3, \array_unique(\array_column($rows, 'ticket')));
        self::assertMatchesRegularExpression('/^[0-9a-f]{32}$/', $rows[0]['ticket']);
    }

    public function testASpoolHasOneNameForGood(): void
    {
        $pdo = $this->pdo();
        (new PdoSpool($pdo))->add(SpooledJob::forList('l', 'a', 'u'));
        $name = $pdo->query('SELECT spool_id FROM backup_queue_reads')->fetchAll(\PDO::FETCH_COLUMN);
        (new PdoSpool($this->pdo()))->add(SpooledJob::forList('l', 'b', 'u'));
        self::assertCount(1, $name);
        self::assertSame($name, $this->pdo()->query('SELECT spool_id FROM backup_queue_reads')->fetchAll(\PDO::FETCH_COLUMN));
    }

    public function testNothingIsOpenedBeforeTheFirstJob(): void
    {
        $made = 0;
        $spool = new PdoSpool(function () use (&$made): \PDO {
            $made++;
            return $this->pdo();
        });
        self::assertSame(0, $made);
        $spool->add(SpooledJob::forList('l', 'a', 'u'));
        $spool->add(SpooledJob::forList('l', 'b', 'u'));
        self::assertSame(1, $made);
        self::assertCount(2, $this->rows());
    }

    /** The silent mode is the default before PHP 8; and what the application has set is its own affair. */
    public function testAFailureIsThrownInEveryErrorMode(): void
    {
        foreach ([\PDO::ERRMODE_SILENT, \PDO::ERRMODE_WARNING, \PDO::ERRMODE_EXCEPTION] as $mode) {
            $pdo = $this->pdo([\PDO::ATTR_ERRMODE => $mode]);
            (new PdoSpool($pdo))->add(SpooledJob::forList('l', 'a', 'u'));
            $pdo->exec('DROP TABLE backup_queue');
            $pdo->exec('CREATE TABLE backup_queue (id INTEGER)');
            try {
                (new PdoSpool($pdo))->add(SpooledJob::forList('queue:sms', 'a', 'u-1'));
                self::fail('a job is not stored, and nobody says so');
            } catch (UnableToSpool $failure) {
                self::assertInstanceOf(SidecarException::class, $failure);
                self::assertStringStartsWith('store job u-1 for queue:sms: ', $failure->getMessage());
                self::assertInstanceOf(\PDOException::class, $failure->getPrevious());
            }
            self::assertSame($mode, $pdo->getAttribute(\PDO::ATTR_ERRMODE));
            $pdo->exec('DROP TABLE backup_queue');
        }
    }

    public function testABrokenConnectionIsReplacedByTheNextJob(): void
    {
        $works = false;
        $spool = new PdoSpool(function () use (&$works): \PDO {
            if (!$works) {
                throw new \PDOException('the server is away');
            }
            return $this->pdo();
        });
        try {
            $spool->add(SpooledJob::forList('l', 'a', 'u'));
            self::fail('stored in a server that is away');
        } catch (UnableToSpool $failure) {
            self::assertStringEndsWith('the server is away', $failure->getMessage());
        }
        $works = true;
        $spool->add(SpooledJob::forList('l', 'b', 'u'));
        self::assertSame(['b'], \array_column($this->rows(), 'text'));
    }

    public function testWithinATransactionAJobIsStoredWithItOrNotAtAll(): void
    {
        $pdo = $this->pdo([\PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION]);
        $spool = new PdoSpool($pdo);
        $pdo->beginTransaction();
        try {
            $spool->add(SpooledJob::forList('l', 'a', 'u'));
            self::fail('a table was made in the middle of a transaction');
        } catch (UnableToSpool $failure) {
            self::assertStringContainsString('in the middle of a transaction', $failure->getMessage());
        }
        $pdo->rollBack();
        $spool->add(SpooledJob::forList('l', 'b', 'u'));
        $pdo->beginTransaction();
        $spool->add(SpooledJob::forList('l', 'c', 'u'));
        $pdo->rollBack();
        $pdo->beginTransaction();
        $spool->add(SpooledJob::forList('l', 'd', 'u'));
        $pdo->commit();
        self::assertSame(['b', 'd'], \array_column($this->rows(), 'text'));
    }

    /** As many requests do when Redis goes away, and none of them finds a table. */
    public function testManyProcessesStoreAtOnce(): void
    {
        $processes = [];
        foreach (\range(1, 8) as $n) {
            $code = \sprintf(
                'require %s; $s = %s; for ($i = 0; $i < 20; $i++) {'
                . ' $s->add(Sidecar\Spool\SpooledJob::forList("l", "%d-$i", "u")); }',
                \var_export(\dirname(__DIR__) . '/autoload.php', true),
                $this->code(),
                $n
            );
            $pipes = [];
            $process = \proc_open(['php', '-r', $code], [2 => ['pipe', 'w']], $pipes);
            $processes[] = [$process, $pipes[2]];
        }
        foreach ($processes as [$process, $errors]) {
            self::assertSame('', \stream_get_contents($errors));
            \proc_close($process);
        }
        $texts = \array_column($this->rows(), 'text');
        self::assertCount(160, \array_unique($texts));
        self::assertCount(160, $texts);
        self::assertSame(1, (int) $this->pdo()->query('SELECT COUNT(*) FROM backup_queue_reads')->fetchColumn());
    }

    private function rows(): array
    {
        return $this->pdo()->query('SELECT * FROM backup_queue ORDER BY id')->fetchAll(\PDO::FETCH_ASSOC);
    }
}
