<?php

declare(strict_types=1);

namespace Sidecar\Tests\Support;

use Sidecar\Spool\Spool;
use Sidecar\Spool\SpooledJob;
use Sidecar\Spool\UnableToSpool;

/**
 * A spool in memory, with room for so many jobs.
 */
final class ListSpool implements Spool
{
    /** @var SpooledJob[] */
    public $jobs = [];

    /** @var int */
    private $room;

    public function __construct(int $room = \PHP_INT_MAX)
    {
        $this->room = $room;
    }

    public function add(SpooledJob $job): void
    {
        if (\count($this->jobs) >= $this->room) {
            throw UnableToSpool::job($job, new \RuntimeException('disk full'));
        }
        $this->jobs[] = $job;
    }

    /** @return string[] */
    public function texts(): array
    {
        return \array_map(static function (SpooledJob $job): string {
            return $job->text();
        }, $this->jobs);
    }
}
