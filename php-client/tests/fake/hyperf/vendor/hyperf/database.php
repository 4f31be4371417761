<?php

/**
 * FAKE of Hyperf: pooled connections, and what is not found. See README.md.
 */

declare(strict_types=1);

namespace Hyperf\Contract {

    interface ConnectionInterface
    {
        public function release(): void;
    }
}

namespace Hyperf\Pool {

    use Hyperf\DbConnection\Connection;

    class Pool
    {
        private static $instance;

        private $config;

        private $idle = [];

        private $currentConnections = 0;

        private function __construct(array $config)
        {
            $this->config = $config;
        }

        public static function instance(): self
        {
            $config = require BASE_PATH . '/config/autoload/databases.php';
            return self::$instance = self::$instance ?? new self($config['default']);
        }

        public function get(): Connection
        {
            if ($this->idle !== []) {
                return \array_pop($this->idle);
            }
            if ($this->currentConnections >= $this->config['pool']['max_connections']) {
                throw new \RuntimeException(
                    'Connection pool exhausted. Cannot establish new connection before wait_timeout.'
                );
            }
            $this->currentConnections++;
            $options = [\PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION];
            return new Connection($this, new \PDO('sqlite:' . $this->config['database'], null, null, $options));
        }

        public function release(Connection $connection): void
        {
            $this->idle[] = $connection;
        }
    }
}

namespace Hyperf\DbConnection {

    use Hyperf\Context\Context;
    use Hyperf\Engine\Coroutine;
    use Hyperf\Pool\Pool;

    class Connection implements \Hyperf\Contract\ConnectionInterface
    {
        private $pool;

        private $pdo;

        private $transactions = 0;

        public function __construct(Pool $pool, \PDO $pdo)
        {
            $this->pool = $pool;
            $this->pdo = $pdo;
        }

        public function update(string $query, array $bindings = []): int
        {
            $statement = $this->pdo->prepare($query);
            $statement->execute($bindings);
            return $statement->rowCount();
        }

        public function beginTransaction(): void
        {
            $this->pdo->beginTransaction();
            $this->transactions++;
        }

        public function transactionLevel(): int
        {
            return $this->transactions;
        }

        public function release(): void
        {
            if ($this->transactions > 0) {
                $this->pdo->rollBack();
                $this->transactions = 0;
            }
            $this->pool->release($this);
        }
    }

    class Db
    {
        public static function __callStatic($name, $arguments)
        {
            $id = 'database.connection.default';
            $connection = Context::get($id) ?? Context::set($id, Pool::instance()->get());
            if (Coroutine::id() > 0) {
                Coroutine::defer([$connection, 'release']);
            }
            return $connection->$name(...$arguments);
        }
    }
}

namespace Hyperf\Database\Model {

    class ModelNotFoundException extends \RuntimeException
    {
        public function setModel(string $model, $ids = [])
        {
            $this->message = 'No query results for model [' . $model . '] ' . \implode(', ', $ids);
            return $this;
        }
    }
}
