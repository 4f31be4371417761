<?php

declare(strict_types=1);

namespace Sidecar\Tests\Support;

use RuntimeException;

/**
 * A private php-fpm in a directory of its own, with a copy of the bridge in it.
 */
final class Fpm
{
    private const USER = 'www-data';

    /** @var string */
    private $dir;

    /** @var string */
    private $listen;

    /** @var resource|null */
    private $master;

    /** @var int */
    private $files = 0;

    /**
     * @param array<string, string> $ini    php.ini settings; "{dir}" stands for the directory
     * @param array<string, string> $pool   directives of the pool
     * @param array<string, string> $global directives of the master
     */
    public function __construct(array $ini = [], array $pool = [], array $global = [])
    {
        $this->dir = self::makeDir();
        $this->listen = $pool['listen'] ?? $this->dir . '/fpm.sock';
        \copy(__DIR__ . '/../../bridge.php', $this->bridge());
        $ini += ['log_errors' => '1', 'error_reporting' => '-1', 'display_errors' => '0'];
        \file_put_contents($this->dir . '/php.ini', $this->lines($ini));
        \file_put_contents($this->dir . '/fpm.conf', $this->conf($pool, $global));
        $this->start();
    }

    public function bridge(): string
    {
        return $this->dir . '/bridge.php';
    }

    public function address(): string
    {
        return $this->listen[0] === '/' ? 'unix://' . $this->listen : 'tcp://' . $this->listen;
    }

    /** Writes a PHP file that the pool can read and returns its path. */
    public function file(string $code, string $name = ''): string
    {
        $path = $this->dir . '/' . ($name !== '' ? $name : 'file' . ++$this->files . '.php');
        if (!\is_dir(\dirname($path))) {
            \mkdir(\dirname($path), 0755, true);
        }
        \file_put_contents($path, $code);
        \chmod($path, 0644);
        return $path;
    }

    /** A path below the pool's directory. */
    public function path(string $name): string
    {
        return $this->dir . '/' . $name;
    }

    /** A path that the pool may write to. */
    public function scratch(string $name): string
    {
        return $this->dir . '/scratch/' . $name;
    }

    /** A new path each time that the pool may write to. */
    public function fresh(): string
    {
        return $this->scratch('fresh' . ++$this->files);
    }

    /** Sends a signal to the master. */
    public function signal(int $signal): void
    {
        if ($this->master !== null) {
            \proc_terminate($this->master, $signal);
        }
    }

    public function stop(): void
    {
        if ($this->master === null) {
            return;
        }
        $master = $this->master;
        Poll::until('php-fpm ends', static function () use ($master): bool {
            \proc_terminate($master); // again and again: a master that is just reloading does not hear it
            return !\proc_get_status($master)['running'];
        });
        \proc_close($master);
        $this->master = null;
        self::remove($this->dir);
    }

    private function start(): void
    {
        $log = ['file', $this->dir . '/out.log', 'a'];
        $pipes = [];
        $this->master = \proc_open(
            [self::binary(), '-F', '-c', $this->dir . '/php.ini', '-y', $this->dir . '/fpm.conf'],
            [['file', '/dev/null', 'r'], $log, $log],
            $pipes,
            $this->dir,
            ['PHP_INI_SCAN_DIR' => $this->dir . '/conf.d'] + \getenv() // none of the machine's extensions
        );
        Poll::until('php-fpm answers', function (): bool {
            return \is_resource(@\stream_socket_client($this->address(), $code, $why, 1));
        });
    }

    private function conf(array $pool, array $global): string
    {
        $pool += [
            'listen' => $this->listen,
            'listen.mode' => '0666',
            'pm' => 'static',
            'pm.max_children' => '1',
        ];
        if (\posix_geteuid() === 0) {
            $pool += ['user' => self::USER, 'group' => self::USER];
        }
        $global += ['error_log' => '{dir}/fpm.log', 'daemonize' => 'no'];
        return "[global]\n" . $this->lines($global) . "[jobs]\n" . $this->lines($pool);
    }

    private function lines(array $settings): string
    {
        $text = '';
        foreach ($settings as $name => $value) {
            $text .= $name . ' = ' . \str_replace('{dir}', $this->dir, $value) . "\n";
        }
        return $text;
    }

    private static function binary(): string
    {
        $found = \glob('/usr/sbin/php-fpm*');
        if ($found === false || $found === []) {
            throw new RuntimeException('no php-fpm in /usr/sbin');
        }
        return (string) \end($found);
    }

    private static function makeDir(): string
    {
        $dir = \sys_get_temp_dir() . '/bridge-' . \bin2hex(\random_bytes(6));
        \mkdir($dir . '/scratch', 0755, true);
        \mkdir($dir . '/conf.d');
        \chmod($dir, 0755);
        \chmod($dir . '/scratch', 0777);
        return $dir;
    }

    private static function remove(string $path): void
    {
        if (!\is_dir($path) || \is_link($path)) {
            \unlink($path);
            return;
        }
        foreach (\array_diff((array) \scandir($path), ['.', '..']) as $name) {
            self::remove($path . '/' . $name);
        }
        \rmdir($path);
    }
}
