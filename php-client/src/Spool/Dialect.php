<?php

declare(strict_types=1);

namespace Sidecar\Spool;

/**
 * What SQLite and MySQL say differently. The tables' columns are those that spool.php reads.
 *
 * @internal
 */
abstract class Dialect
{
    private const UUID_MOST = 255; // it is for people, and must not keep a job out

    /**
     * @throws \RuntimeException the database is neither
     */
    public static function of(\PDO $pdo): self
    {
        $driver = $pdo->getAttribute(\PDO::ATTR_DRIVER_NAME);
        switch ($driver) {
            case 'sqlite':
                return new SqliteDialect();
            case 'mysql':
                return new MysqlDialect();
        }
        throw new \RuntimeException('a spool is in SQLite or MySQL, not in ' . $driver);
    }

    /** Stores the job in one statement. */
    abstract public function insert(\PDO $pdo, SpooledJob $job): void;

    /** Creates the tables, unless somebody else just does. */
    abstract public function create(\PDO $pdo): void;

    /** Reports whether a statement failed since there is no table yet. */
    abstract public function isMissing(\PDOException $e): bool;

    /**
     * The row's columns, by name. The ticket is what the drain knows the row by, for good: ids come again, in databases
     * that are restarted or restored.
     *
     * @return array<string, string|int|null>
     */
    final protected function row(SpooledJob $job): array
    {
        $nowMs = (int) \round(\microtime(true) * 1000); // this host's clock: Redis, whose time would count, is away
        $dueMs = null;
        if ($job->kind() !== SpooledJob::LIST) {
            $dueMs = $job->dueMs() === null ? $nowMs + $job->delayMs() : $job->dueMs();
        }
        return [
            'ticket' => \bin2hex(\random_bytes(16)),
            'kind' => $job->kind(),
            'queue_key' => $job->key(),
            'text' => $job->text(),
            'due_ms' => $dueMs,
            'uuid' => \substr($job->uuid(), 0, self::UUID_MOST),
            'created_at' => $nowMs,
        ];
    }

    /** The name of this spool, made once. */
    final protected function newName(): string
    {
        return \bin2hex(\random_bytes(8));
    }
}
