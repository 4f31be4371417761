<?php

/**
 * The doctor's eye in PHP: the file that "sidecar doctor" runs through PHP-FPM to see what the pool's PHP sees: its
 * settings, its user, and whether the code of the jobs is there, may be read and parses. It runs none of that code and
 * changes nothing.
 *
 * The order is the request's body; the answer is a line of JSON between two lines with the order's nonce. Like the
 * bridge it is one file without dependencies, for PHP 7.2 and newer, of which a copy can be put anywhere.
 */

declare(strict_types=1);

namespace Sidecar\Doctor {

    final class Examination
    {
        /** A larger file is not parsed: its tokens take fifty times as much memory. */
        private const LARGEST = 1 << 19;

        /** @var array */
        private $order;

        /** @var string The last warning that was kept from the output. */
        private $warning = '';

        private function __construct(array $order)
        {
            $this->order = $order;
        }

        public static function serve(): void
        {
            $order = \json_decode((string) \file_get_contents('php://input'), true);
            // A web server cannot set this parameter: what it passes on from a client begins with HTTP_.
            if (!isset($_SERVER['SIDECAR_DOCTOR']) || !\is_array($order) || !isset($order['nonce'])) {
                \http_response_code(403);
                return;
            }
            (new self($order))->answer();
        }

        /** The name is a variable on purpose: opcache would fold it and share the answer with pools that differ. */
        private static function has(string $function): bool
        {
            return \function_exists($function);
        }

        private function answer(): void
        {
            $ini = $this->settings(); // before they are changed here
            if (self::has('ini_set')) {
                $this->quietly(static function () {
                    return \ini_set('memory_limit', '-1');
                });
            }
            $seen = [
                'php' => \PHP_VERSION,
                'uid' => self::has('posix_geteuid') ? \posix_geteuid() : -1,
                'time' => \microtime(true),
                'timezone' => \date_default_timezone_get(),
                'ini' => $ini,
                'missing' => $this->missing(),
                'opcache' => $this->opcache(),
                'files' => $this->files(),
            ];
            $text = \json_encode($seen, \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_PARTIAL_OUTPUT_ON_ERROR);
            $mark = "\nsidecar-doctor " . $this->order['nonce'];
            echo $mark, "\n", $text, $mark, " end\n";
        }

        /** @return array<string, string|null> null: PHP knows no such setting, its extension is not loaded */
        private function settings(): array
        {
            $values = [];
            foreach (self::has('ini_get') ? $this->order['ini'] ?? [] : [] as $name) {
                $value = \ini_get($name);
                $values[$name] = $value === false ? null : $value;
            }
            return $values;
        }

        private function missing(): array
        {
            $missing = [];
            foreach ($this->order['functions'] ?? [] as $name) {
                if (!self::has($name)) {
                    $missing[] = $name;
                }
            }
            return $missing;
        }

        private function opcache(): ?array
        {
            if (!self::has('opcache_get_status')) {
                return null;
            }
            $status = $this->quietly(static function () {
                return \opcache_get_status(false);
            });
            if (!\is_array($status)) {
                return null;
            }
            $memory = $status['memory_usage'] ?? [];
            $counts = $status['opcache_statistics'] ?? [];
            return [
                'full' => (bool) ($status['cache_full'] ?? false),
                'used' => (int) ($memory['used_memory'] ?? 0),
                'free' => (int) ($memory['free_memory'] ?? 0),
                'wasted' => (int) ($memory['wasted_memory'] ?? 0),
                'keys' => (int) ($counts['num_cached_keys'] ?? 0),
                'max_keys' => (int) ($counts['max_cached_keys'] ?? 0),
                'restarts' => (int) ($counts['oom_restarts'] ?? 0) + (int) ($counts['hash_restarts'] ?? 0),
            ];
        }

        private function files(): array
        {
            $files = [];
            foreach ($this->order['files'] ?? [] as $path) {
                $files[] = ['path' => $path] + $this->look($path);
            }
            return $files;
        }

        /** What this pool makes of a file, "error" where jobs could not run it. */
        private function look(string $path): array
        {
            $isFile = $this->quietly(static function () use ($path) {
                return \is_file($path);
            });
            if (!$isFile) {
                return ['error' => 'missing', 'why' => $this->warning];
            }
            $code = $this->quietly(static function () use ($path) {
                return \is_readable($path) ? \file_get_contents($path) : false;
            });
            if ($code === false) {
                return ['error' => 'unreadable', 'why' => $this->warning];
            }
            return ['size' => \strlen($code), 'sha1' => self::has('sha1') ? \sha1($code) : ''] + $this->parse($code);
        }

        /** Reads the code as PHP would, and runs nothing of it. */
        private function parse(string $code): array
        {
            if (!self::has('token_get_all') || \strlen($code) > self::LARGEST) {
                return ['unparsed' => true];
            }
            try {
                $this->quietly(static function () use ($code) {
                    return \token_get_all($code, \TOKEN_PARSE);
                });
            } catch (\ParseError $e) {
                return ['error' => 'syntax', 'why' => $e->getMessage() . ' on line ' . $e->getLine()];
            }
            return [];
        }

        /** Runs $act with its warnings kept from logs and output. */
        private function quietly(callable $act)
        {
            $this->warning = '';
            if (!self::has('set_error_handler') || !self::has('restore_error_handler')) {
                return $act();
            }
            \set_error_handler(function (int $level, string $text): bool {
                $this->warning = $text;
                return true;
            });
            try {
                return $act();
            } finally {
                \restore_error_handler();
            }
        }
    }

    Examination::serve();
}
