<?php

declare(strict_types=1);

namespace Shop\Jobs;

use Shop\Marks;

/** A job as a method: the sidecar calls it with the decoded job. What goes wrong is what the job wishes for. */
final class OrderTimeout
{
    public function handle(array $job): void
    {
        Marks::leave($job['uuid'], 'start');
        switch ($job['wish']) {
            case 'ok':
                usleep(random_int(500, 4000)); // the database
                break;
            case 'reject':
                Marks::leave($job['uuid'], 'reject');
                throw new RejectJob('order was paid: it can never time out');
            case 'defer':
                self::deferUntil($job['uuid'], $job['open_at']);
                break;
            case 'kill':
                self::kill($job['uuid']);
                break;
            case 'kill once':
                if (($job['crashes'] ?? 0) === 0) {
                    self::kill($job['uuid']);
                }
                break;
        }
        Marks::leave($job['uuid'], 'end');
    }

    private static function deferUntil(string $uuid, int $openAt): void
    {
        $wait = $openAt - (int) (microtime(true) * 1000);
        if ($wait > 0) {
            Marks::leave($uuid, 'defer');
            throw new DeferJob($wait);
        }
    }

    /** As the kernel does when memory is short, or a segfault. */
    private static function kill(string $uuid): void
    {
        Marks::leave($uuid, 'kill');
        posix_kill(getmypid(), 9); // SIGKILL by number: its name belongs to ext-pcntl, which PHP-FPM lacks
    }
}
