<?php

declare(strict_types=1);

namespace Sidecar\Tests\Support;

use RuntimeException;

/**
 * Waits for a condition instead of for a time.
 */
final class Poll
{
    private const SECONDS = 60.0;

    public static function until(string $what, callable $holds): void
    {
        $deadline = \microtime(true) + self::SECONDS;
        while (!$holds()) {
            if (\microtime(true) > $deadline) {
                throw new RuntimeException('waited in vain: ' . $what);
            }
            \usleep(5000);
        }
    }
}
