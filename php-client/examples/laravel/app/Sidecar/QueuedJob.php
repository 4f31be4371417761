<?php

declare(strict_types=1);

namespace App\Sidecar;

use DateInterval;
use DateTimeImmutable;
use DateTimeInterface;
use Illuminate\Container\Container;
use Illuminate\Queue\Jobs\SyncJob;
use Throwable;

/**
 * The queue's side of a job: notes what the job asks of its queue, for the sidecar to do.
 */
final class QueuedJob extends SyncJob
{
    /** @var object */
    private $command;

    /** @var int */
    private $delay = 0;

    /** @var string */
    private $reason = '';

    public function __construct(Container $app, $command)
    {
        $class = get_class($command);
        $payload = ['uuid' => $this->getJobId(), 'displayName' => $class, 'job' => $class, 'data' => []];
        parent::__construct($app, (string) json_encode($payload), 'sidecar', $_SERVER['SIDECAR_TOPIC']);
        $this->command = $command;
    }

    public function getJobId()
    {
        return $_SERVER['SIDECAR_UUID'];
    }

    public function attempts()
    {
        return 1 + (int) $_SERVER['SIDECAR_TRIES'];
    }

    public function release($delay = 0)
    {
        parent::release($delay);
        if ($delay instanceof DateInterval) {
            $delay = (new DateTimeImmutable())->add($delay);
        }
        $this->delay = $delay instanceof DateTimeInterface ? $delay->getTimestamp() - time() : (int) $delay;
    }

    /** Called for fail(): as with queue:work the job hears of it. */
    public function failed($e)
    {
        $this->reason = $e instanceof Throwable ? $e->getMessage() : 'the job failed itself';
        if (method_exists($this->command, 'failed')) {
            $this->command->failed($e);
        }
    }

    /** Seconds, at least 1. */
    public function delay(): int
    {
        return max(1, $this->delay);
    }

    public function reason(): string
    {
        return $this->reason;
    }
}
