<?php

declare(strict_types=1);

namespace Sidecar\Spool;

/**
 * The spool as a table of an SQLite file or of a MySQL database: `backup_queue`, a row a job.
 *
 * Nothing is opened before the first add(), so that in good weather a spool costs a request nothing. What is missing is
 * created then. Each add() is one INSERT. Many processes may do that at once, and the drain may run meanwhile.
 *
 * A job is stored for good when add() returns: with SQLite it is on the disk, with MySQL it is committed, unless the
 * connection is in a transaction of yours. Then it is stored with that transaction, or not at all.
 */
final class PdoSpool implements Spool
{
    /** How long a write waits for the others, ms. They come one after the other, and each takes a few. */
    private const PATIENCE_MS = 5000;

    /** @var callable|null makes the connection; null where it was handed in */
    private $connect;

    /** @var \PDO|null */
    private $pdo;

    /**
     * @param \PDO|callable $pdo a connection, or what makes one when it is needed; to SQLite or to MySQL
     */
    public function __construct($pdo)
    {
        if ($pdo instanceof \PDO) {
            $this->pdo = $pdo;
        } elseif (\is_callable($pdo)) {
            $this->connect = $pdo;
        } else {
            throw new \InvalidArgumentException('a spool needs a PDO, or a callable that returns one');
        }
    }

    /**
     * A spool in a file of its own, which only this process' user can read. Its directory must exist, and be writable for
     * that user: SQLite keeps two more files beside it.
     *
     * @param string $path absolute
     */
    public static function sqlite(string $path): self
    {
        if (\preg_match('~^(/|[A-Za-z]:[\\\\/])~', $path) !== 1) {
            throw new \InvalidArgumentException('the path of a spool must be absolute: ' . $path);
        }
        return new self(static function () use ($path): \PDO {
            self::createFile($path);
            $pdo = new \PDO('sqlite:' . $path, null, null, [\PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION]);
            $pdo->exec('PRAGMA busy_timeout = ' . self::PATIENCE_MS);
            $pdo->exec('PRAGMA synchronous = FULL'); // whatever the default is: a row is on the disk when add() returns
            return $pdo;
        });
    }

    /**
     * A spool in a MySQL or MariaDB database. A connection that fails once is good for nothing any more: a process that
     * lives for long hands in a callable, which is called again then.
     *
     * @param \PDO|callable $pdo a connection, or what makes one when it is needed
     */
    public static function mysql($pdo): self
    {
        return new self($pdo);
    }

    public function add(SpooledJob $job): void
    {
        try {
            $this->within(function (\PDO $pdo) use ($job): void {
                $this->store($pdo, $job);
            });
        } catch (\Throwable $e) {
            if ($this->connect !== null) {
                $this->pdo = null; // it may be broken: the next one gets a new one
            }
            throw UnableToSpool::job($job, $e);
        }
    }

    private function store(\PDO $pdo, SpooledJob $job): void
    {
        $dialect = Dialect::of($pdo);
        try {
            $dialect->insert($pdo, $job);
        } catch (\PDOException $e) {
            if (!$dialect->isMissing($e)) {
                throw $e;
            }
            if ($pdo->inTransaction()) { // creating a table would commit it in MySQL
                throw new \RuntimeException('the table is missing, and is not created in the middle of a transaction', 0, $e);
            }
            $dialect->create($pdo);
            $dialect->insert($pdo, $job);
        }
    }

    /** Calls $work with a connection that throws, and leaves it as it was. */
    private function within(callable $work): void
    {
        if ($this->pdo === null) {
            $this->pdo = ($this->connect)();
        }
        $pdo = $this->pdo;
        $mode = $pdo->getAttribute(\PDO::ATTR_ERRMODE);
        $pdo->setAttribute(\PDO::ATTR_ERRMODE, \PDO::ERRMODE_EXCEPTION);
        try {
            $work($pdo);
        } finally {
            $pdo->setAttribute(\PDO::ATTR_ERRMODE, $mode);
        }
    }

    /** SQLite gives its other two files the mode of this one. */
    private static function createFile(string $path): void
    {
        if (\file_exists($path)) {
            return;
        }
        $mask = \umask(0077); // chmod would come a moment too late
        try {
            $file = @\fopen($path, 'ab');
        } finally {
            \umask($mask);
        }
        if ($file === false) {
            throw new \RuntimeException('cannot create ' . $path . ': its directory must exist and be writable');
        }
        \fclose($file);
    }
}
