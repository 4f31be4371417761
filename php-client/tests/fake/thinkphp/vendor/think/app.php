<?php

/**
 * FAKE of ThinkPHP: the container and the application. See README.md.
 */

declare(strict_types=1);

namespace think;

class Container
{
    protected static $instance;

    protected $instances = [];

    private $bind = ['config' => Config::class, 'db' => DbManager::class, 'lang' => Lang::class, 'log' => Log::class,
        'request' => Request::class];

    public static function getInstance()
    {
        return static::$instance;
    }

    public static function setInstance($instance): void
    {
        static::$instance = $instance;
    }

    public function make(string $abstract, array $vars = [], bool $newInstance = false)
    {
        $concrete = $this->bind[$abstract] ?? $abstract;
        if (isset($this->instances[$abstract]) && !$newInstance) {
            return $this->instances[$abstract];
        }
        $object = $concrete instanceof \Closure ? $concrete() : $this->invokeClass($concrete);
        if (!$newInstance) {
            $this->instances[$abstract] = $object;
        }
        return $object;
    }

    public function bind($abstract)
    {
        $this->bind = \array_merge($this->bind, $abstract);
    }

    private function invokeClass(string $class)
    {
        $constructor = (new \ReflectionClass($class))->getConstructor();
        $services = \array_map(function (\ReflectionParameter $parameter) {
            $class = $parameter->getType()->getName();
            return $this instanceof $class ? $this : $this->make($class);
        }, $constructor ? $constructor->getParameters() : []);
        return new $class(...$services);
    }

    public function delete($name)
    {
        unset($this->instances[$name]);
    }

    public function __get($name)
    {
        return $this->make($name);
    }
}

class App extends Container
{
    private $rootPath;

    public function __construct(string $rootPath = '')
    {
        $this->rootPath = $rootPath;
        static::setInstance($this);
    }

    public function initialize()
    {
        foreach (\glob($this->rootPath . '/config/*.php') as $file) {
            $this->config->set(include $file, \basename($file, '.php'));
        }
        $this->bind(include $this->rootPath . '/app/provider.php');
        $this->debugModeInit();
        \date_default_timezone_set($this->config->get('app')['default_timezone']);
        \error_reporting(\E_ALL);
        \set_error_handler(static function (int $no, string $text, string $file = '', int $line = 0): void {
            if (\error_reporting() & $no) {
                throw new \ErrorException($text, 0, $no, $file, $line);
            }
        });
        \set_exception_handler(function (\Throwable $e): void {
            $this->make(exception\Handle::class)->report($e);
            \http_response_code(500);
            echo '<html>页面错误';
            \fastcgi_finish_request();
        });
        return $this;
    }

    public function runningInConsole()
    {
        return \php_sapi_name() === 'cli';
    }

    /** Takes what was printed so far into a buffer of its own, as the real one does. */
    private function debugModeInit(): void
    {
        \ini_set('display_errors', 'Off');
        if (!$this->runningInConsole()) {
            if (\ob_get_level() > 0) {
                $output = \ob_get_clean();
            }
            \ob_start();
            if (!empty($output)) {
                echo $output;
            }
        }
    }
}
