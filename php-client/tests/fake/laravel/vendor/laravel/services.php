<?php

/**
 * FAKE of Laravel: users, languages, logs. See README.md.
 */

declare(strict_types=1);

namespace Illuminate\Auth {

    class GenericUser
    {
        private $attributes;

        public function __construct(array $attributes)
        {
            $this->attributes = $attributes;
        }

        public function getAuthIdentifier()
        {
            return $this->attributes['id'];
        }
    }

    class SessionGuard
    {
        private $user;

        public function check()
        {
            return $this->user !== null;
        }

        public function id()
        {
            return $this->user ? $this->user->getAuthIdentifier() : null;
        }

        public function setUser($user)
        {
            $this->user = $user;
        }
    }

    class AuthManager
    {
        protected $guards = [];

        public function guard($name = null)
        {
            return $this->guards[$name] ?? $this->guards[$name] = new SessionGuard();
        }

        public function forgetGuards()
        {
            $this->guards = [];
            return $this;
        }

        public function __call($method, $parameters)
        {
            return $this->guard()->$method(...$parameters);
        }
    }
}

namespace Illuminate\Translation {

    class Translator
    {
        private $locale = 'en';

        public function getLocale()
        {
            return $this->locale;
        }

        public function setLocale($locale)
        {
            $this->locale = $locale;
        }
    }
}

namespace Illuminate\Log {

    use Illuminate\Container\Container;

    class Logger
    {
        private $path;

        private $context = [];

        public function __construct(string $path)
        {
            $this->path = $path;
        }

        public function withContext(array $context = [])
        {
            $this->context = $context + $this->context;
        }

        public function withoutContext()
        {
            $this->context = [];
        }

        public function info($message)
        {
            $this->write('INFO', $message);
        }

        public function error($message)
        {
            $this->write('ERROR', $message);
        }

        private function write(string $level, string $message): void
        {
            $line = 'production.' . $level . ': ' . $message . ' ' . \json_encode($this->context) . "\n";
            \file_put_contents($this->path, $line, \FILE_APPEND);
        }
    }

    class LogManager
    {
        private $app;

        private $logger;

        public function __construct(Container $app)
        {
            $this->app = $app;
        }

        public function driver($driver = null)
        {
            return $this->logger = $this->logger ?? new Logger($this->app['config']['logging.channels.single.path']);
        }

        public function __call($method, $parameters)
        {
            return $this->driver()->$method(...$parameters);
        }
    }
}
