<?php

declare(strict_types=1);

namespace app\sidecar;

use LogicException;
use think\Container;
use think\db\PDOConnection;
use Throwable;

/**
 * Runs a job and leaves the application as it was: in mode worker the next job finds it so.
 */
final class Runner
{
    public static function run(string $class, array $job): void
    {
        $app = Container::getInstance();
        $config = $app->config->get();
        $language = $app->lang->getLangSet();
        $open = [];
        try {
            $app->make($class, [], true)->handle($job); // true: a new object, the container would keep it otherwise
        } finally {
            $open = self::rollBack($app->db, array_keys($config['database']['connections']));
            $app->config->set($config);
            $app->lang->setLangSet($language);
            $app->delete('request'); // and what was noted in it: the user, the merchant
            $app->log->save(); // outside of the command line lines are only collected, for the HTTP kernel to write
        }
        if ($open !== []) {
            throw new LogicException('the job left a transaction open, its writes are gone: ' . implode(', ', $open));
        }
    }

    /** @return string[] the connections that had a transaction open */
    private static function rollBack($db, array $names): array
    {
        $open = [];
        foreach ($names as $name) {
            $connection = $db->connect($name);
            $pdo = $connection instanceof PDOConnection ? $connection->getPdo() : false; // false while it is not in use
            if (!$pdo || !$pdo->inTransaction()) {
                continue;
            }
            $open[] = $name;
            try {
                $pdo->rollBack();
            } catch (Throwable $gone) { // the server rolls back what nobody holds
            }
            $db->connect($name, true); // a new connection: the old one still counts its transactions
        }
        return $open;
    }
}
