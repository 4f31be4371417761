<?php

declare(strict_types=1);

namespace App\Sidecar;

use Hyperf\AsyncQueue\JobInterface;
use Hyperf\Context\Context; // Hyperf 2: Hyperf\Utils\Context
use Hyperf\Contract\ConnectionInterface;
use Hyperf\DbConnection\Connection;
use LogicException;

/**
 * Runs a job and leaves the context as it was: there is one for all jobs of a worker where there are no coroutines.
 */
final class Runner
{
    public static function run(JobInterface $job): void
    {
        $context = Context::getContainer();
        $open = [];
        try {
            $job->handle();
        } finally {
            $open = self::reset($context);
        }
        if ($open !== []) {
            throw new LogicException('the job left a transaction open, its writes are gone: ' . implode(', ', $open));
        }
    }

    /** @return string[] what had a transaction open */
    private static function reset(array $context): array
    {
        $open = [];
        foreach (Context::getContainer() as $id => $value) {
            if (array_key_exists($id, $context)) {
                Context::set($id, $context[$id]);
                continue;
            }
            if ($value instanceof Connection && $value->transactionLevel() > 0) {
                $open[] = $id;
            }
            if ($value instanceof ConnectionInterface) {
                $value->release(); // rolls back. In a coroutine its end does this; else the pool would run dry
            }
            Context::destroy($id);
        }
        return $open;
    }
}
