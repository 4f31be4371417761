<?php

/**
 * The drain's half in PHP: the file the sidecar runs through PHP-FPM to read the spool's table and to delete what has been
 * brought in. PHP-FPM's user may open that database and PHP has the driver for it, so the sidecar needs neither.
 *
 * One request, one order, which is the request's body: the password in it is in no parameter, no environment and no log.
 * The answer is a line for each row between two lines with the order's nonce. Without the last one it is no answer.
 *
 * Like the bridge it is one file without dependencies, for PHP 7.2 and newer, of which a copy can be put anywhere.
 */

declare(strict_types=1);

namespace Sidecar\SpoolTable {

    /**
     * The two tables, in SQLite or in MySQL.
     */
    final class Tables
    {
        private const NO_SUCH_TABLE = '42S02';

        /** How long a statement waits for the web's, and a connection for its server, s. */
        private const PATIENCE = 5;

        /** @var \PDO */
        private $pdo;

        /** @var bool */
        private $isSqlite;

        private function __construct(\PDO $pdo)
        {
            $this->pdo = $pdo;
            $this->isSqlite = $pdo->getAttribute(\PDO::ATTR_DRIVER_NAME) === 'sqlite';
        }

        /** Null where there is no such file: nothing has ever been stored, and it is not ours to create. */
        public static function open(string $dsn, string $username, string $password): ?self
        {
            if (\strncmp($dsn, 'sqlite:', 7) === 0 && !\file_exists(\substr($dsn, 7))) {
                self::mustBeAbleToSee(\substr($dsn, 7));
                return null;
            }
            return new self(new \PDO($dsn, $username, $password, [
                \PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION,
                \PDO::ATTR_TIMEOUT => self::PATIENCE,
            ]));
        }

        /** A file that is not there and one that this user may not see look alike, and the second may hold jobs. */
        private static function mustBeAbleToSee(string $path): void
        {
            $dir = \dirname($path);
            if (@\is_dir($dir) && \is_writable($dir) && \is_executable($dir)) { // as SQLite needs it, too
                return;
            }
            $user = \function_exists('posix_geteuid') ? ' (uid ' . \posix_geteuid() . ')' : '';
            throw new \RuntimeException(
                "cannot see $path: its directory is missing, or closed to PHP-FPM's user$user"
            );
        }

        /** Reports whether there is no spool yet. One table without the other is none that could be drained. */
        public function isMissing(\PDOException $e): bool
        {
            $isTable = $e->getCode() === self::NO_SUCH_TABLE || \strpos($e->getMessage(), 'no such table') !== false;
            return $isTable && \strpos($e->getMessage(), 'backup_queue_reads') === false;
        }

        public function count(): int
        {
            return (int) $this->pdo->query('SELECT COUNT(*) FROM backup_queue')->fetchColumn();
        }

        /** Ms since the epoch by the clock of the host that stored it; null without rows. */
        public function oldest(): ?int
        {
            $oldest = $this->pdo->query('SELECT MIN(created_at) FROM backup_queue')->fetchColumn();
            return $oldest === null ? null : (int) $oldest;
        }

        /** How many rows there are for each key, those with most first. */
        public function keys(int $most): array
        {
            return $this->pdo->query(\sprintf(
                'SELECT kind, queue_key, COUNT(*) AS n FROM backup_queue GROUP BY kind, queue_key ORDER BY n DESC LIMIT %d',
                $most
            ))->fetchAll(\PDO::FETCH_ASSOC);
        }

        /**
         * Deletes rows that are in Redis. The ticket says that it is still the row that was read: ids come again in
         * databases that are restarted or restored.
         *
         * @param array<array{0: int, 1: string}> $rows id and ticket
         */
        public function delete(array $rows): void
        {
            if ($rows === []) {
                return;
            }
            $this->begin();
            $statement = $this->pdo->prepare('DELETE FROM backup_queue WHERE id = ? AND ticket = ?');
            foreach ($rows as $row) {
                $statement->execute([(int) $row[0], (string) $row[1]]);
            }
            $this->pdo->exec('COMMIT');
        }

        /**
         * Reads the next rows and numbers the reading. The numbers rise in the order of what the readings see, also of
         * two sidecars: whoever has a number holds the row with it until he has read.
         *
         * @return array{0: string, 1: int, 2: array, 3: bool} the spool's name, the number (0: the table is empty), the
         *     rows, whether there are none behind them
         */
        public function read(int $after, int $limit, int $bytes, int $longest, int $lift): array
        {
            if ($this->pdo->query('SELECT id FROM backup_queue LIMIT 1')->fetchColumn() === false) {
                return ['', 0, [], true]; // a look at an empty table writes nothing
            }
            $this->begin();
            $greatest = $this->isSqlite ? 'MAX' : 'GREATEST';
            $this->pdo->exec(\sprintf(
                'UPDATE backup_queue_reads SET read_no = %s(read_no, %d) + 1 WHERE one = 1',
                $greatest,
                $lift
            ));
            $name = $this->pdo->query('SELECT spool_id, read_no FROM backup_queue_reads WHERE one = 1')
                ->fetch(\PDO::FETCH_NUM);
            if ($name === false) {
                throw new \RuntimeException('the table backup_queue_reads has lost its row: without the name of the spool'
                    . ' nobody can tell what has been brought in');
            }
            [$upto, $isLast] = $this->window($after, $limit, $bytes);
            $rows = $this->pdo->query(\sprintf(
                'SELECT id, ticket, kind, queue_key, due_ms, LENGTH(text) AS size,'
                . ' CASE WHEN LENGTH(text) > %d THEN NULL ELSE text END AS text'
                . ' FROM backup_queue WHERE id > %d AND id <= %d ORDER BY id',
                $longest,
                $after,
                $upto
            ))->fetchAll(\PDO::FETCH_ASSOC);
            $this->pdo->exec('COMMIT');
            return [(string) $name[0], (int) $name[1], $rows, $isLast];
        }

        /** The last id to read for so many rows and bytes, but for at least one row; and whether it is the last of all. */
        private function window(int $after, int $limit, int $bytes): array
        {
            $sizes = $this->pdo->query(\sprintf(
                'SELECT id, LENGTH(text) FROM backup_queue WHERE id > %d ORDER BY id LIMIT %d',
                $after,
                $limit
            ))->fetchAll(\PDO::FETCH_NUM);
            $upto = $after;
            foreach ($sizes as $i => [$id, $size]) {
                $bytes -= (int) $size;
                if ($i > 0 && $bytes < 0) {
                    return [$upto, false];
                }
                $upto = (int) $id;
            }
            return [$upto, \count($sizes) < $limit];
        }

        /** SQLite would else read first and find out too late that it may not write. */
        private function begin(): void
        {
            $this->pdo->exec($this->isSqlite ? 'BEGIN IMMEDIATE' : 'START TRANSACTION');
        }
    }

    /**
     * One order and its answer.
     */
    final class Desk
    {
        private const KEYS_SHOWN = 20;

        /** @var array */
        private $order;

        private function __construct(array $order)
        {
            $this->order = $order;
        }

        public static function serve(): void
        {
            $order = \json_decode((string) \file_get_contents('php://input'), true);
            // A web server cannot set this parameter: what it passes on from a client begins with HTTP_.
            if (!isset($_SERVER['SIDECAR_SPOOL']) || !\is_array($order) || !isset($order['nonce'], $order['dsn'])) {
                \http_response_code(403);
                return;
            }
            if (\function_exists('ini_set')) {
                @\ini_set('memory_limit', '-1'); // how much is read is bounded by the order
                @\ini_set('display_errors', '0');
            }
            (new self($order))->answer();
        }

        private function answer(): void
        {
            $this->line('begin', '');
            try {
                $end = $this->fulfil();
            } catch (\Throwable $e) {
                $end = ['error' => $this->withoutPassword($e->getMessage())];
            }
            $this->line('end', (string) \json_encode($end, \JSON_INVALID_UTF8_SUBSTITUTE));
        }

        private function fulfil(): array
        {
            $tables = Tables::open(
                $this->order['dsn'],
                (string) ($this->order['username'] ?? ''),
                (string) ($this->order['password'] ?? '')
            );
            if ($tables === null) {
                return ['missing' => true];
            }
            try {
                return ($this->order['do'] ?? '') === 'status' ? $this->status($tables) : $this->drain($tables);
            } catch (\PDOException $e) {
                if ($tables->isMissing($e)) {
                    return ['missing' => true];
                }
                throw $e;
            }
        }

        private function status(Tables $tables): array
        {
            $oldest = $tables->oldest();
            foreach ($tables->keys(self::KEYS_SHOWN) as $key) {
                $this->row(['kind' => $key['kind'], 'key' => \base64_encode($key['queue_key']), 'rows' => (int) $key['n']]);
            }
            return [
                'left' => $tables->count(),
                'oldest_ms' => $oldest === null ? 0 : \max(0, (int) (\microtime(true) * 1000) - $oldest),
            ];
        }

        private function drain(Tables $tables): array
        {
            $order = $this->order;
            $tables->delete($order['gone'] ?? []);
            $end = [];
            if (($order['limit'] ?? 0) > 0) {
                [$name, $number, $rows, $isLast] = $tables->read(
                    $order['after'],
                    $order['limit'],
                    $order['bytes'],
                    $order['longest'],
                    $order['lift']
                );
                foreach ($rows as $row) {
                    $this->row([
                        'id' => (int) $row['id'],
                        'ticket' => $row['ticket'],
                        'kind' => $row['kind'],
                        'key' => \base64_encode($row['queue_key']),
                        'due_ms' => (int) $row['due_ms'],
                        'size' => (int) $row['size'],
                        'text' => $row['text'] === null ? null : \base64_encode($row['text']),
                    ]);
                }
                $end = ['spool' => $name, 'read' => $number, 'last' => $isLast];
            }
            if ($order['count'] ?? false) {
                $end['left'] = $tables->count();
            }
            return $end === [] ? ['left' => 0] : $end;
        }

        private function row(array $row): void
        {
            echo \json_encode($row), "\n";
        }

        private function line(string $word, string $rest): void
        {
            echo "\nsidecar-spool ", $this->order['nonce'], ' ', $word, ' ', $rest, "\n";
        }

        private function withoutPassword(string $text): string
        {
            $password = (string) ($this->order['password'] ?? '');
            return $password === '' ? $text : \str_replace($password, '[hidden]', $text);
        }
    }

    Desk::serve();
}
