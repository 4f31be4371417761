<?php

declare(strict_types=1);

namespace Sidecar;

use Sidecar\Job\JobText;
use Sidecar\Spool\SpooledJob;

/**
 * One job on its way: its text, and where and when it belongs.
 *
 * @internal
 */
final class Entry
{
    public const IN = 'in';
    public const AT = 'at';
    public const LIST = 'list';

    /** @var string IN, AT or LIST */
    private $way;

    /** @var string */
    private $key;

    /** @var JobText */
    private $job;

    /** @var int The delay, or the due time. */
    private $ms;

    /** @var int ms in one unit of the scores */
    private $unit;

    private function __construct(string $way, string $key, JobText $job, int $ms, int $unit)
    {
        $this->way = $way;
        $this->key = $key;
        $this->job = $job;
        $this->ms = $ms;
        $this->unit = $unit;
    }

    public static function dueIn(string $key, JobText $job, int $delayMs, int $unit): self
    {
        return new self(self::IN, $key, $job, $delayMs, $unit);
    }

    public static function dueAt(string $key, JobText $job, int $dueMs, int $unit): self
    {
        return new self(self::AT, $key, $job, $dueMs, $unit);
    }

    public static function ofList(string $key, JobText $job): self
    {
        return new self(self::LIST, $key, $job, 0, 1);
    }

    public function way(): string
    {
        return $this->way;
    }

    public function key(): string
    {
        return $this->key;
    }

    public function unit(): int
    {
        return $this->unit;
    }

    public function text(): string
    {
        return $this->job->text();
    }

    public function uuid(): string
    {
        return $this->job->uuid();
    }

    public function delayMs(): int
    {
        return $this->ms;
    }

    /** The due time in the topic's unit: exact, whatever PHP's precision and locale. */
    public function score(): string
    {
        if ($this->unit === 1) {
            return (string) $this->ms;
        }
        return \sprintf('%d.%03d', \intdiv($this->ms, 1000), $this->ms % 1000);
    }

    /** What the spool keeps; $member is what would stand in Redis. */
    public function spooled(string $member): SpooledJob
    {
        if ($this->way === self::LIST) {
            return SpooledJob::forList($this->key, $member, $this->uuid());
        }
        $job = $this->way === self::IN
            ? SpooledJob::dueIn($this->key, $member, $this->uuid(), $this->ms)
            : SpooledJob::dueAt($this->key, $member, $this->uuid(), $this->ms);
        return $this->unit === 1 ? $job : $job->scoredInSeconds();
    }
}
