<?php

/**
 * FAKE of Laravel: the application, its console kernel and its exception handler. See README.md.
 */

declare(strict_types=1);

namespace Illuminate\Foundation {

    use Illuminate\Auth\AuthManager;
    use Illuminate\Bus\Dispatcher;
    use Illuminate\Config\Repository;
    use Illuminate\Container\Container;
    use Illuminate\Database\DatabaseManager;
    use Illuminate\Log\LogManager;
    use Illuminate\Redis\RedisManager;
    use Illuminate\Translation\Translator;

    class Application extends Container
    {
        private $basePath;

        public function __construct($basePath = null)
        {
            $this->basePath = $basePath;
            self::setInstance($this);
            $this->instance('app', $this);
            $services = ['auth' => AuthManager::class, 'db' => DatabaseManager::class, 'log' => LogManager::class,
                'redis' => RedisManager::class, 'translator' => Translator::class, \Illuminate\Contracts\Bus\Dispatcher::class => Dispatcher::class];
            \array_map([$this, 'singleton'], \array_keys($services), $services);
            $this->singleton(DatabaseManager::class, static function (Container $app) {
                return $app->make('db');
            });
        }

        public function loadConfiguration()
        {
            $items = [];
            foreach (\glob($this->basePath . '/config/*.php') as $file) {
                $items[\basename($file, '.php')] = require $file;
            }
            $this->instance('config', new Repository($items));
        }

        public function registerConfiguredProviders()
        {
            foreach (\array_filter($this['config']['app.providers'], 'class_exists') as $provider) {
                (new $provider($this))->register();
            }
        }

        public function runningInConsole()
        {
            return ($_ENV['APP_RUNNING_IN_CONSOLE'] ?? '') === 'true' || \PHP_SAPI === 'cli';
        }

        public function getLocale()
        {
            return $this['config']['app.locale'];
        }

        public function setLocale($locale)
        {
            $this['config']->set('app.locale', $locale);
            $this['translator']->setLocale($locale);
        }
    }
}

namespace Illuminate\Foundation\Console {

    use Illuminate\Contracts\Debug\ExceptionHandler;
    use Illuminate\Foundation\Application;

    class Kernel implements \Illuminate\Contracts\Console\Kernel
    {
        private $app;

        public function __construct(Application $app)
        {
            $this->app = $app;
        }

        public function bootstrap()
        {
            $this->app->loadConfiguration();
            $this->app->registerConfiguredProviders();
            \error_reporting(-1);
            \ini_set('display_errors', 'Off');
            \set_error_handler(static function ($level, $text, $file, $line): bool {
                if (\error_reporting() & $level) {
                    throw new \ErrorException($text, 0, $level, $file, $line);
                }
                return true;
            });
            \set_exception_handler(function (\Throwable $e): void {
                $this->app->make(ExceptionHandler::class)->report($e);
                if (!$this->app->runningInConsole()) { // Symfony's Response::send()
                    \http_response_code(500);
                    echo '<html>Server Error';
                    \fastcgi_finish_request();
                }
            });
        }
    }
}

namespace Illuminate\Foundation\Exceptions {

    use Illuminate\Container\Container;
    use Illuminate\Database\Eloquent\ModelNotFoundException;

    class Handler implements \Illuminate\Contracts\Debug\ExceptionHandler
    {
        private $container;

        public function __construct(Container $container)
        {
            $this->container = $container;
        }

        public function report(\Throwable $e)
        {
            if (!$e instanceof ModelNotFoundException) { // one of those that are never reported
                $this->container['log']->error($e->getMessage());
            }
        }
    }
}
