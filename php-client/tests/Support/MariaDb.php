<?php

declare(strict_types=1);

namespace Sidecar\Tests\Support;

/**
 * A mariadbd of our own behind a unix socket, in a directory of its own, with an empty database named shop.
 */
final class MariaDb
{
    private const KILL = 9;

    /** @var string */
    private $dir;

    /** @var resource|null */
    private $process;

    public function __construct()
    {
        $this->dir = \sys_get_temp_dir() . '/mariadb-' . \bin2hex(\random_bytes(6));
        \mkdir($this->dir, 0700);
        \file_put_contents($this->dir . '/set-up.sql', "CREATE DATABASE shop;\n"
            . "CREATE USER 'shop'@'localhost' IDENTIFIED BY 'secret';\nGRANT ALL ON shop.* TO 'shop'@'localhost';\n");
        $options = ['--no-defaults', '--datadir=' . $this->dir . '/data', '--innodb-log-file-size=4M', '--innodb-buffer-pool-size=16M'];
        if (\posix_geteuid() === 0) {
            $options[] = '--user=root';
        }
        self::wait(self::open('mariadb-install-db', \array_merge($options, [
            '--auth-root-authentication-method=normal',
            '--skip-test-db',
        ])));
        $this->process = self::open('/usr/sbin/mariadbd', \array_merge($options, [
            '--socket=' . $this->dir . '/s',
            '--pid-file=' . $this->dir . '/pid',
            '--skip-networking',
            '--init-file=' . $this->dir . '/set-up.sql',
        ]));
        Poll::until('mariadbd answers', function (): bool {
            try {
                $this->pdo();
                return true;
            } catch (\PDOException $e) {
                return false;
            }
        });
    }

    /** A connection of its own each time. */
    public function pdo(array $options = []): \PDO
    {
        return new \PDO($this->dsn(), 'shop', 'secret', $options);
    }

    public function dsn(): string
    {
        return 'mysql:unix_socket=' . $this->dir . '/s;dbname=shop';
    }

    public function remove(): void
    {
        if ($this->process !== null) {
            \proc_terminate($this->process, self::KILL);
            \proc_close($this->process);
            $this->process = null;
        }
        self::wait(self::open('rm', ['-rf', $this->dir]));
    }

    /** @return resource */
    private static function open(string $command, array $options)
    {
        $none = ['file', '/dev/null', 'w'];
        $pipes = [];
        $process = \proc_open(\array_merge([$command], $options), [['file', '/dev/null', 'r'], $none, $none], $pipes);
        if ($process === false) {
            throw new \RuntimeException('cannot start ' . $command);
        }
        return $process;
    }

    /** @param resource $process */
    private static function wait($process): void
    {
        $code = \proc_close($process);
        if ($code !== 0) {
            throw new \RuntimeException('a helper ended with ' . $code);
        }
    }
}
