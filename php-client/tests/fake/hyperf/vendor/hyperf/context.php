<?php

/**
 * FAKE of Hyperf: the context as it is outside of coroutines, and the translator that lives in it. See README.md.
 */

declare(strict_types=1);

namespace Hyperf\Engine {

    class Coroutine
    {
        public static function id(): int
        {
            return -1; // what Swoole answers outside of a coroutine; hyperf/engine-cli answers 0
        }

        public static function defer(callable $callable): void
        {
            throw new \RuntimeException('Not implement');
        }
    }
}

namespace Hyperf\Context {

    class Context
    {
        protected static $nonCoContext = [];

        public static function set(string $id, $value)
        {
            return static::$nonCoContext[$id] = $value;
        }

        public static function get(string $id, $default = null)
        {
            return static::$nonCoContext[$id] ?? $default;
        }

        public static function getOrSet(string $id, $value)
        {
            return static::$nonCoContext[$id] ?? static::set($id, $value instanceof \Closure ? $value() : $value);
        }

        public static function destroy(string $id): void
        {
            unset(static::$nonCoContext[$id]);
        }

        public static function getContainer()
        {
            return static::$nonCoContext;
        }
    }

    class ApplicationContext
    {
        private static $container;

        public static function getContainer()
        {
            return self::$container;
        }

        public static function setContainer($container)
        {
            return self::$container = $container;
        }
    }
}

namespace Hyperf\Contract {

    interface TranslatorInterface
    {
        public function getLocale(): string;

        public function setLocale(string $locale);
    }
}

namespace Hyperf\Translation {

    use Hyperf\Context\Context;

    class Translator implements \Hyperf\Contract\TranslatorInterface
    {
        public function getLocale(): string
        {
            return (string) Context::get(self::class . '::locale', 'zh_CN');
        }

        public function setLocale(string $locale)
        {
            Context::set(self::class . '::locale', $locale);
        }
    }
}
