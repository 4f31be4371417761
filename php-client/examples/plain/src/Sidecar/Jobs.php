<?php

declare(strict_types=1);

namespace App\Sidecar;

use App\Database;
use App\Jobs\CloseOrder;
use LogicException;
use PDOException;

/**
 * For mode worker, where a connection outlives its job: one method a topic.
 */
final class Jobs
{
    public static function closeOrder(array $job): void
    {
        self::run(static function () use ($job): void {
            (new CloseOrder())->handle($job);
        });
    }

    public static function run(callable $work): void
    {
        self::wake();
        try {
            $work();
        } finally {
            $left = Database::connection()->inTransaction();
            if ($left) {
                Database::close(); // the server rolls back what nobody holds
            }
        }
        if ($left) {
            throw new LogicException('the job left a transaction open, its writes are gone');
        }
    }

    /** MySQL hangs up on who is silent for wait_timeout: a worker may have waited longer for this job. */
    private static function wake(): void
    {
        try {
            @Database::connection()->query('select 1'); // @: before PHP 8 it warns as well
        } catch (PDOException $gone) {
            Database::close();
        }
    }
}
