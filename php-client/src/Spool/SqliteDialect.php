<?php

declare(strict_types=1);

namespace Sidecar\Spool;

/**
 * @internal
 */
final class SqliteDialect extends Dialect
{
    // AUTOINCREMENT: without it the ids of deleted rows come again.
    private const TABLES = [
        'CREATE TABLE IF NOT EXISTS backup_queue (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            ticket TEXT NOT NULL,
            kind TEXT NOT NULL,
            queue_key BLOB NOT NULL,
            text BLOB NOT NULL,
            due_ms INTEGER,
            uuid BLOB NOT NULL,
            created_at INTEGER NOT NULL
        )',
        'CREATE TABLE IF NOT EXISTS backup_queue_reads (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            spool_id TEXT NOT NULL,
            read_no INTEGER NOT NULL
        )',
    ];

    public function insert(\PDO $pdo, SpooledJob $job): void
    {
        $statement = $pdo->prepare('INSERT INTO backup_queue (ticket, kind, queue_key, text, due_ms, uuid, created_at)'
            . ' VALUES (:ticket, :kind, :queue_key, :text, :due_ms, :uuid, :created_at)');
        foreach ($this->row($job) as $name => $value) {
            $statement->bindValue($name, $value, $this->typeOf($name, $value));
        }
        $statement->execute();
    }

    public function create(\PDO $pdo): void
    {
        try {
            $pdo->exec('PRAGMA journal_mode = WAL'); // who reads and who writes do not wait for each other; it stays so
        } catch (\PDOException $e) {
            // Somebody else is at it: then it is done, or it is only slower.
        }
        $pdo->exec('BEGIN IMMEDIATE');
        try {
            foreach (self::TABLES as $table) {
                $pdo->exec($table);
            }
            $pdo->prepare('INSERT OR IGNORE INTO backup_queue_reads (one, spool_id, read_no) VALUES (1, ?, 0)')
                ->execute([$this->newName()]);
            $pdo->exec('COMMIT');
        } catch (\Throwable $e) {
            $pdo->exec('ROLLBACK');
            throw $e;
        }
    }

    public function isMissing(\PDOException $e): bool
    {
        return \strpos($e->getMessage(), 'no such table') !== false;
    }

    private function typeOf(string $name, $value): int
    {
        if ($value === null) {
            return \PDO::PARAM_NULL;
        }
        if (\is_int($value)) {
            return \PDO::PARAM_INT;
        }
        return \in_array($name, ['queue_key', 'text', 'uuid'], true) ? \PDO::PARAM_LOB : \PDO::PARAM_STR;
    }
}
