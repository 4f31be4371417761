<?php

declare(strict_types=1);

namespace Sidecar\Tests\Support;

use PDO;

/**
 * A shop as a user of an example has it: the example's files, a framework below vendor/, a database, a log.
 */
final class Project
{
    private const ROOT = __DIR__ . '/../..';

    /** @var string */
    private $dir;

    public function __construct(string $dir, string $example)
    {
        $this->dir = $dir;
        self::copy(self::ROOT . '/examples/' . $example, $dir);
        self::copy(self::ROOT . '/tests/fake/' . $example, $dir);
        self::copy(self::ROOT . '/src', $dir . '/vendor/sidecar/php-client/src');
        \copy(self::ROOT . '/autoload.php', $dir . '/vendor/sidecar/php-client/autoload.php');
        foreach (['scratch', 'bootstrap/cache', 'runtime'] as $writable) {
            self::make($dir . '/' . $writable);
            \chmod($dir . '/' . $writable, 0777);
        }
        $this->database()->exec('create table orders (id integer, status text);'
            . "insert into orders values (42, 'open'), (43, 'open')");
        \chmod($dir . '/scratch/shop.sqlite', 0666);
    }

    public function path(string $name): string
    {
        return $this->dir . '/' . $name;
    }

    public function write(string $name, string $content): void
    {
        self::make(\dirname($this->path($name)));
        \file_put_contents($this->path($name), $content);
    }

    /** What has become of an order, as somebody else sees it. */
    public function status(int $order): string
    {
        return (string) $this->database()->query('select status from orders where id = ' . $order)->fetchColumn();
    }

    /** What the shop has logged so far. */
    public function log(): string
    {
        return (string) @\file_get_contents($this->path('scratch/shop.log'));
    }

    private function database(): PDO
    {
        $options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
        return new PDO('sqlite:' . $this->path('scratch/shop.sqlite'), null, null, $options);
    }

    private static function copy(string $from, string $to): void
    {
        self::make($to);
        foreach (\array_diff((array) \scandir($from), ['.', '..']) as $name) {
            if (\is_dir($from . '/' . $name)) {
                self::copy($from . '/' . $name, $to . '/' . $name);
                continue;
            }
            \copy($from . '/' . $name, $to . '/' . $name);
            \chmod($to . '/' . $name, 0644);
        }
    }

    private static function make(string $dir): void
    {
        if (!\is_dir($dir)) {
            \mkdir($dir, 0755, true);
        }
    }
}
