<?php

/**
 * FAKE of Laravel: the facades. See README.md.
 */

declare(strict_types=1);

namespace Illuminate\Support\Facades {

    use Illuminate\Container\Container;

    abstract class Facade
    {
        private static $resolved = [];

        public static function clearResolvedInstances()
        {
            self::$resolved = [];
        }

        public static function __callStatic($method, $arguments)
        {
            $name = static::getFacadeAccessor();
            self::$resolved[$name] = self::$resolved[$name] ?? Container::getInstance()->make($name);
            return self::$resolved[$name]->$method(...$arguments);
        }

        abstract protected static function getFacadeAccessor();
    }

    class App extends Facade
    {
        protected static function getFacadeAccessor()
        {
            return 'app';
        }
    }

    class Auth extends Facade
    {
        protected static function getFacadeAccessor()
        {
            return 'auth';
        }
    }

    class DB extends Facade
    {
        protected static function getFacadeAccessor()
        {
            return 'db';
        }
    }

    class Log extends Facade
    {
        protected static function getFacadeAccessor()
        {
            return 'log';
        }
    }

    class Redis extends Facade
    {
        protected static function getFacadeAccessor()
        {
            return 'redis';
        }
    }
}

namespace Illuminate\Support {

    use Illuminate\Container\Container;

    abstract class ServiceProvider
    {
        protected $app;

        public function __construct(Container $app)
        {
            $this->app = $app;
        }
    }
}

namespace Illuminate\Redis {

    use Illuminate\Container\Container;

    class RedisManager
    {
        private $app;

        public function __construct(Container $app)
        {
            $this->app = $app;
        }

        public function connection($name = null)
        {
            return $this;
        }

        public function client()
        {
            $config = $this->app['config']['database.redis'];
            $redis = new \Redis();
            $redis->connect($config['default']['host'], $config['default']['port']);
            $redis->setOption(\Redis::OPT_PREFIX, $config['options']['prefix']);
            return $redis;
        }
    }
}
