<?php

/**
 * FAKE of Laravel: the container and the configuration. See README.md.
 */

declare(strict_types=1);

namespace Illuminate\Container {

    class Container implements \ArrayAccess
    {
        private static $current;

        private $makers = [];

        private $instances = [];

        private $scoped = [];

        public static function getInstance()
        {
            return self::$current;
        }

        public static function setInstance($container)
        {
            return self::$current = $container;
        }

        public function singleton($abstract, $concrete = null)
        {
            $this->makers[$abstract] = $concrete ?? $abstract;
        }

        public function scoped($abstract, $concrete = null)
        {
            $this->scoped[] = $abstract;
            $this->singleton($abstract, $concrete);
        }

        public function forgetScopedInstances()
        {
            $this->instances = \array_diff_key($this->instances, \array_flip($this->scoped));
        }

        public function bound($abstract)
        {
            return isset($this->makers[$abstract]) || isset($this->instances[$abstract]);
        }

        public function instance($abstract, $instance)
        {
            return $this->instances[$abstract] = $instance;
        }

        public function make($abstract)
        {
            return $this->instances[$abstract] ?? $this->instances[$abstract] = $this->build($this->makers[$abstract] ?? $abstract);
        }

        /** Calls a method with the services that its parameters name. */
        public function call(array $callback)
        {
            return $callback(...$this->servicesOf(new \ReflectionMethod($callback[0], $callback[1])));
        }

        private function build($maker)
        {
            if ($maker instanceof \Closure) {
                return $maker($this);
            }
            $constructor = (new \ReflectionClass($maker))->getConstructor();
            return new $maker(...($constructor ? $this->servicesOf($constructor) : []));
        }

        private function servicesOf(\ReflectionMethod $method): array
        {
            return \array_map(function (\ReflectionParameter $parameter) {
                $class = $parameter->getType()->getName();
                return $this instanceof $class ? $this : $this->make($class);
            }, $method->getParameters());
        }

        #[\ReturnTypeWillChange]
        public function offsetExists($key)
        {
            return $this->bound($key);
        }

        #[\ReturnTypeWillChange]
        public function offsetGet($key)
        {
            return $this->make($key);
        }

        #[\ReturnTypeWillChange]
        public function offsetSet($key, $value)
        {
            $this->instance($key, $value);
        }

        #[\ReturnTypeWillChange]
        public function offsetUnset($key)
        {
            unset($this->instances[$key]);
        }
    }
}

namespace Illuminate\Config {

    class Repository implements \ArrayAccess
    {
        private $items;

        public function __construct(array $items)
        {
            $this->items = $items;
        }

        public function all()
        {
            return $this->items;
        }

        public function set($key, $value = null)
        {
            foreach (\is_array($key) ? $key : [$key => $value] as $name => $item) {
                $place = &$this->items;
                foreach (\explode('.', $name) as $part) {
                    $place = &$place[$part];
                }
                $place = $item;
                unset($place);
            }
        }

        #[\ReturnTypeWillChange]
        public function offsetGet($key)
        {
            return \array_reduce(\explode('.', $key), static function ($items, string $part) {
                return $items[$part] ?? null;
            }, $this->items);
        }

        #[\ReturnTypeWillChange]
        public function offsetExists($key)
        {
            return $this->offsetGet($key) !== null;
        }

        #[\ReturnTypeWillChange]
        public function offsetSet($key, $value)
        {
            $this->set($key, $value);
        }

        #[\ReturnTypeWillChange]
        public function offsetUnset($key)
        {
            $this->set($key);
        }
    }
}
