<?php

declare(strict_types=1);

namespace App;

use PDO;

/**
 * The shop's one connection, made when it is first asked for.
 */
final class Database
{
    /** @var PDO|null */
    private static $pdo;

    public static function connection(): PDO
    {
        if (self::$pdo === null) {
            $options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
            self::$pdo = new PDO((string) getenv('SHOP_DSN'), 'shop', (string) getenv('SHOP_PASSWORD'), $options);
        }
        return self::$pdo;
    }

    public static function close(): void
    {
        self::$pdo = null;
    }
}
