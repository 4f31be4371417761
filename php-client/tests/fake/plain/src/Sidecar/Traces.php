<?php

declare(strict_types=1);

namespace App\Sidecar;

use App\Database;
use App\LostConnection;
use Closure;

/**
 * The tests' topics.
 */
final class Traces
{
    public static function guarded(array $job): void
    {
        Jobs::run(static function () use ($job): void {
            self::unguarded($job);
        });
    }

    /** Without the guard, to see that there is something to put back. */
    public static function unguarded(array $job): void
    {
        echo json_encode(Database::connection()->inTransaction());
        if ($job['do'] === 'open') {
            Database::connection()->beginTransaction();
            Database::connection()->exec("update orders set status = 'lost' where id = 42");
        }
        if ($job['do'] === 'lose') {
            Closure::bind(static function (): void {
                self::$pdo = new LostConnection('sqlite::memory:');
            }, null, Database::class)();
        }
    }
}
