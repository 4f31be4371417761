<?php

declare(strict_types=1);

namespace Sidecar\Spool;

/**
 * @internal
 */
final class MysqlDialect extends Dialect
{
    private const NO_SUCH_TABLE = '42S02';

    private const TABLES = [
        'CREATE TABLE IF NOT EXISTS backup_queue (
            id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
            ticket CHAR(32) CHARACTER SET ascii NOT NULL,
            kind VARCHAR(8) CHARACTER SET ascii NOT NULL,
            queue_key VARBINARY(2048) NOT NULL,
            text LONGBLOB NOT NULL,
            due_ms BIGINT NULL,
            uuid VARBINARY(255) NOT NULL,
            created_at BIGINT NOT NULL
        ) ENGINE=InnoDB',
        'CREATE TABLE IF NOT EXISTS backup_queue_reads (
            one TINYINT NOT NULL PRIMARY KEY,
            spool_id CHAR(16) CHARACTER SET ascii NOT NULL,
            read_no BIGINT NOT NULL
        ) ENGINE=InnoDB',
    ];

    /**
     * Bytes go as hexadecimal digits: what a connection's character set and emulated statements do to others depends on
     * more than can be known here.
     */
    public function insert(\PDO $pdo, SpooledJob $job): void
    {
        $row = $this->row($job);
        $pdo->prepare('INSERT INTO backup_queue (ticket, kind, queue_key, text, due_ms, uuid, created_at)'
            . ' VALUES (?, ?, UNHEX(?), UNHEX(?), ?, UNHEX(?), ?)')
            ->execute([
                $row['ticket'], $row['kind'], \bin2hex($row['queue_key']), \bin2hex($row['text']),
                $row['due_ms'], \bin2hex($row['uuid']), $row['created_at'],
            ]);
    }

    public function create(\PDO $pdo): void
    {
        foreach (self::TABLES as $table) {
            $pdo->exec($table);
        }
        $pdo->prepare('INSERT IGNORE INTO backup_queue_reads (one, spool_id, read_no) VALUES (1, ?, 0)')
            ->execute([$this->newName()]);
    }

    public function isMissing(\PDOException $e): bool
    {
        return $e->getCode() === self::NO_SUCH_TABLE;
    }
}
