<?php

/**
 * FAKE of ThinkPHP: configuration, languages, logs, the request, the reports of exceptions. See README.md.
 */

declare(strict_types=1);

namespace think {

    class Config
    {
        private $config = [];

        public function get(?string $name = null, $default = null)
        {
            return $name === null ? $this->config : $this->config[$name] ?? $default;
        }

        public function set(array $config, ?string $name = null): array
        {
            if ($name === null) {
                return $this->config = \array_merge($this->config, $config);
            }
            return $this->config[$name] = \array_merge($this->config[$name] ?? [], $config);
        }
    }

    class Lang
    {
        private $range;

        public function __construct(App $app)
        {
            $this->range = $app->config->get('lang')['default_lang'];
        }

        public function getLangSet(): string
        {
            return $this->range;
        }

        public function setLangSet(string $lang): void
        {
            $this->range = $lang;
        }
    }

    class Request
    {
        public $user;
    }

    class Log
    {
        private $app;

        private $lines = '';

        public function __construct(App $app)
        {
            $this->app = $app;
        }

        public function info($message): void
        {
            $this->record('info', $message);
        }

        public function error($message): void
        {
            $this->record('error', $message);
        }

        public function save(): bool
        {
            $saved = \file_put_contents($this->app->config->get('log')['path'], $this->lines, \FILE_APPEND);
            $this->lines = '';
            return $saved !== false;
        }

        /** Lines wait for save() outside of the command line ("lazy"). */
        private function record(string $level, string $message): void
        {
            $this->lines .= '[' . $level . '] ' . $message . "\n";
            if ($this->app->runningInConsole()) {
                $this->save();
            }
        }
    }
}

namespace think\exception {

    class Handle
    {
        private $app;

        public function __construct(\think\App $app)
        {
            $this->app = $app;
        }

        public function report(\Throwable $exception): void
        {
            if (!$exception instanceof \think\db\exception\DataNotFoundException) { // one that is never reported
                $this->app->log->error($exception->getMessage());
            }
        }
    }
}

namespace think {

    class Facade
    {
        public static function __callStatic($method, $params)
        {
            return Container::getInstance()->make(static::getFacadeClass())->$method(...$params);
        }
    }
}

namespace think\facade {

    class Db extends \think\Facade
    {
        protected static function getFacadeClass()
        {
            return 'db';
        }
    }

    class Lang extends \think\Facade
    {
        protected static function getFacadeClass()
        {
            return 'lang';
        }
    }

    class Log extends \think\Facade
    {
        protected static function getFacadeClass()
        {
            return 'log';
        }
    }
}
