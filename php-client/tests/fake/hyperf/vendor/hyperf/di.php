<?php

/**
 * FAKE of Hyperf: the class loader, the container, the application, the log, a job's base. See README.md.
 */

declare(strict_types=1);

namespace Hyperf\Di\ScanHandler {

    interface ScanHandlerInterface
    {
    }

    class NullScanHandler implements ScanHandlerInterface
    {
    }
}

namespace Hyperf\Di {

    use Hyperf\Context\Context;
    use Hyperf\Contract\ApplicationInterface;
    use Hyperf\Contract\TranslatorInterface;
    use Hyperf\Di\ScanHandler\NullScanHandler;
    use Hyperf\Di\ScanHandler\ScanHandlerInterface;
    use Hyperf\Translation\Translator;

    class ClassLoader
    {
        public static function init(
            ?string $proxyFileDirPath = null,
            ?string $configDir = null,
            ?ScanHandlerInterface $handler = null
        ): void {
            if (!$handler instanceof NullScanHandler) {
                throw new \Error('Call to undefined function pcntl_fork()');
            }
        }
    }

    class Container
    {
        private $entries = [];

        public function get($id)
        {
            $classes = [ApplicationInterface::class => \stdClass::class, TranslatorInterface::class => Translator::class];
            if (!isset($this->entries[$id])) {
                $class = $classes[$id] ?? $id;
                $this->entries[$id] = new $class();
            }
            if ($id === ApplicationInterface::class) { // the listeners of BootApplication
                Context::set('booted', 'at the start');
                \set_error_handler(static function ($level, $text, $file = '', $line = 0): bool {
                    if (\error_reporting() & $level) {
                        throw new \ErrorException($text, 0, $level, $file, $line);
                    }
                    return true;
                });
            }
            return $this->entries[$id];
        }
    }
}

namespace Hyperf\Contract {

    interface ApplicationInterface
    {
    }
}

namespace Hyperf\Logger {

    class LoggerFactory
    {
        private $name;

        public function get(string $name = 'hyperf', string $group = 'default')
        {
            $this->name = $name;
            return $this;
        }

        public function error($message): void
        {
            $line = '[' . $this->name . '] ERROR ' . \strtok($message, "\n") . "\n";
            \file_put_contents(BASE_PATH . '/scratch/shop.log', $line, \FILE_APPEND);
        }
    }
}

namespace Hyperf\AsyncQueue {

    interface JobInterface
    {
        public function handle();
    }

    abstract class Job implements JobInterface
    {
        protected $maxAttempts = 0;
    }
}
