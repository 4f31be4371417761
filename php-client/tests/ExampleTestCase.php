<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Fpm;
use Sidecar\Tests\Support\Project;

/**
 * Runs the jobs of an example as a user would have it run them, in either mode.
 */
abstract class ExampleTestCase extends WorkerTestCase
{
    protected const EXTENSIONS = ['pdo', 'pdo_sqlite'];

    /** @var int */
    private static $projects = 0;

    protected static function shop(): Fpm
    {
        $shared = \array_filter(static::EXTENSIONS, static function (string $name): bool {
            return \is_file(\PHP_EXTENSION_DIR . '/' . $name . '.so'); // else it is built in
        });
        return self::fpm(['extension' => \implode("\nextension = ", $shared)], ['pm.max_children' => '2']);
    }

    protected static function project(string $example): Project
    {
        return new Project(self::shop()->path('shop' . ++self::$projects), $example);
    }

    /** The verdict of each of these texts, run one after another in one worker or in a request each. */
    protected function verdicts(string $mode, array $order, array $texts, array $header = []): array
    {
        $verdicts = [];
        if ($mode === 'worker') {
            $worker = $this->readyWorker($order, self::shop());
            foreach ($texts as $i => $text) {
                $verdicts[] = $worker->run($i + 1, $text, $header);
            }
            return $verdicts;
        }
        foreach ($texts as $text) {
            $params = ['SIDECAR_TRIES' => (string) ($header['tries'] ?? 0)];
            $reply = self::answer(self::shop(), $order, $text, $params);
            $verdict = $reply->verdict(self::NONCE);
            self::assertNotNull($verdict, 'no sign in ' . $reply->stdout . $reply->stderr);
            $verdicts[] = $verdict + ['out' => $reply->output()];
        }
        return $verdicts;
    }

    public static function modes(): array
    {
        return ['mode request' => ['request'], 'mode worker' => ['worker']];
    }
}
