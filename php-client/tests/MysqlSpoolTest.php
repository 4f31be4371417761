<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Spool\PdoSpool;
use Sidecar\Spool\SpooledJob;
use Sidecar\Tests\Support\MariaDb;

final class MysqlSpoolTest extends PdoSpoolTestCase
{
    /** @var MariaDb|null */
    private static $server;

    public static function setUpBeforeClass(): void
    {
        self::$server = new MariaDb();
    }

    public static function tearDownAfterClass(): void
    {
        if (self::$server !== null) {
            self::$server->remove();
            self::$server = null;
        }
    }

    protected function setUp(): void
    {
        $this->pdo()->exec('DROP TABLE IF EXISTS backup_queue, backup_queue_reads');
    }

    protected function pdo(array $options = []): \PDO
    {
        return self::$server->pdo($options);
    }

    protected function code(): string
    {
        return \sprintf(
            'Sidecar\Spool\PdoSpool::mysql(function () { return new PDO(%s, "shop", "secret"); })',
            \var_export(self::$server->dsn(), true)
        );
    }

    /** Whatever the application's connection does to texts. */
    public function testBytesSurviveEveryCharacterSetAndKindOfStatement(): void
    {
        $text = '';
        for ($i = 0; $i < 256; $i++) {
            $text .= \chr($i) . "'\\";
        }
        foreach (['utf8mb4', 'latin1', 'gbk'] as $charset) {
            foreach ([true, false] as $emulate) {
                $pdo = $this->pdo([\PDO::ATTR_EMULATE_PREPARES => $emulate]);
                $pdo->exec('SET NAMES ' . $charset);
                PdoSpool::mysql($pdo)->add(SpooledJob::forList('l', $text, 'u'));
            }
        }
        $texts = $this->pdo()->query('SELECT text FROM backup_queue')->fetchAll(\PDO::FETCH_COLUMN);
        self::assertSame(\array_fill(0, 6, $text), $texts);
    }
}
