<?php

/**
 * FAKE of Laravel: connections and what is not found. See README.md.
 */

declare(strict_types=1);

namespace Illuminate\Database\Eloquent {

    class ModelNotFoundException extends \RuntimeException
    {
        public function setModel($model, $ids = [])
        {
            $this->message = 'No query results for model [' . $model . '] ' . \implode(', ', $ids);
            return $this;
        }
    }
}

namespace Illuminate\Database {

    use Illuminate\Container\Container;

    class Connection
    {
        private $pdo;

        private $transactions = 0;

        public function __construct(\PDO $pdo)
        {
            $this->pdo = $pdo;
        }

        public function getPdo()
        {
            return $this->pdo;
        }

        public function update($query, $bindings = [])
        {
            $statement = $this->pdo->prepare($query);
            $statement->execute($bindings);
            return $statement->rowCount();
        }

        public function beginTransaction()
        {
            $this->pdo->beginTransaction();
            $this->transactions++;
        }

        public function transactionLevel()
        {
            return $this->transactions;
        }

        public function rollBack($toLevel = null)
        {
            $this->pdo->rollBack();
            $this->transactions = 0;
        }
    }

    class DatabaseManager
    {
        private $app;

        private $connections = [];

        public function __construct(Container $app)
        {
            $this->app = $app;
        }

        public function connection($name = null)
        {
            $name = $name ?? $this->app['config']['database.default'];
            if (!isset($this->connections[$name])) {
                $path = $this->app['config']['database.connections.' . $name . '.database'];
                $options = [\PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION];
                $this->connections[$name] = new Connection(new \PDO('sqlite:' . $path, null, null, $options));
            }
            return $this->connections[$name];
        }

        public function getConnections()
        {
            return $this->connections;
        }

        public function purge($name = null)
        {
            unset($this->connections[$name]);
        }

        public function __call($method, $parameters)
        {
            return $this->connection()->$method(...$parameters);
        }
    }
}
