<?php

declare(strict_types=1);

namespace App\Sidecar;

use Illuminate\Container\Container;
use Illuminate\Contracts\Bus\Dispatcher;
use Illuminate\Support\Facades\Facade;
use LogicException;
use Sidecar\DeferJob;
use Sidecar\RejectJob;
use Throwable;

/**
 * Runs a job as queue:work does, and leaves the application as it was: in mode worker the next job finds it so.
 */
final class Runner
{
    public static function run($job): void
    {
        $app = Container::getInstance();
        $config = $app['config']->all();
        $queued = new QueuedJob($app, $job);
        if (method_exists($job, 'setJob')) {
            $job->setJob($queued); // what release(), fail() and attempts() speak to
        }
        $open = [];
        try {
            $app->make(Dispatcher::class)->dispatchNow($job);
        } finally {
            $open = self::reset($app, $config);
        }
        if ($open !== []) {
            throw new LogicException('the job left a transaction open, its writes are gone: ' . implode(', ', $open));
        }
        if ($queued->hasFailed()) {
            throw RejectJob::because($queued->reason());
        }
        if ($queued->isReleased()) {
            throw DeferJob::by($queued->delay(), 'released');
        }
    }

    /** @return string[] the connections that had a transaction open */
    private static function reset($app, array $config): array
    {
        $open = self::rollBack($app['db']);
        $app['config']->set($config); // with the default guard, connection, locale
        $app->setLocale($config['app']['locale']);
        self::forgetUsers($app['auth']);
        self::forgetLogContext($app['log']);
        if (method_exists($app, 'forgetScopedInstances')) { // Laravel 8
            $app->forgetScopedInstances();
        }
        Facade::clearResolvedInstances();
        return $open;
    }

    private static function rollBack($db): array
    {
        $open = [];
        foreach ($db->getConnections() as $name => $connection) {
            if ($connection->transactionLevel() === 0) {
                continue;
            }
            $open[] = $name;
            try {
                $connection->rollBack(0);
            } catch (Throwable $gone) {
                $db->purge($name); // the server rolls back what nobody holds
            }
        }
        return $open;
    }

    private static function forgetUsers($auth): void
    {
        if (method_exists($auth, 'forgetGuards')) { // Laravel 8
            $auth->forgetGuards();
            return;
        }
        (function (): void {
            $this->guards = [];
        })->call($auth);
    }

    private static function forgetLogContext($log): void
    {
        $driver = method_exists($log, 'driver') ? $log->driver() : $log;
        foreach ([$log, $driver] as $logger) {
            foreach (['flushSharedContext', 'withoutContext'] as $method) { // Laravel 8 and 9
                if (method_exists($logger, $method)) {
                    $logger->$method();
                }
            }
        }
    }
}
