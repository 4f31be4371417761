<?php

/**
 * FAKE of ThinkPHP: think-orm's connections. See README.md.
 */

declare(strict_types=1);

namespace think {

    class DbManager
    {
        private $app;

        private $instance = [];

        public function __construct(App $app)
        {
            $this->app = $app;
        }

        public function connect(?string $name = null, bool $force = false)
        {
            $config = $this->app->config->get('database');
            $name = $name ?? $config['default'];
            if ($force || !isset($this->instance[$name])) {
                $isMongo = $config['connections'][$name]['type'] === 'mongo';
                $class = $isMongo ? db\connector\Mongo::class : db\PDOConnection::class;
                $this->instance[$name] = new $class($config['connections'][$name]);
            }
            return $this->instance[$name];
        }

        public function __call($method, $args)
        {
            return $this->connect()->$method(...$args);
        }
    }
}

namespace think\db {

    class PDOConnection
    {
        private $config;

        private $linkID;

        private $transTimes = 0;

        public function __construct(array $config)
        {
            $this->config = $config;
        }

        /** @return \PDO|false */
        public function getPdo()
        {
            return $this->linkID ?: false;
        }

        public function execute(string $sql, array $bind = []): int
        {
            $statement = $this->link()->prepare($sql);
            $statement->execute($bind);
            return $statement->rowCount();
        }

        public function startTrans(): void
        {
            $link = $this->link();
            if (++$this->transTimes === 1) {
                $link->beginTransaction();
            }
        }

        public function commit(): void
        {
            if ($this->transTimes === 1) {
                $this->link()->commit();
            }
            $this->transTimes--;
        }

        private function link(): \PDO
        {
            $options = [\PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION];
            return $this->linkID
                ?? $this->linkID = new \PDO('sqlite:' . $this->config['database'], null, null, $options);
        }
    }
}

namespace think\db\connector {

    /** Has no PDO and no transactions to ask for. */
    class Mongo
    {
    }
}

namespace think\db\exception {

    class DataNotFoundException extends \RuntimeException
    {
        public function __construct(string $message, string $table = '', array $config = [])
        {
            parent::__construct($message);
        }
    }
}
