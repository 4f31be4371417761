<?php

declare(strict_types=1);

namespace Sidecar\Spool;

/**
 * A job that could not be written to Redis: where it belongs, its text byte for byte, and when it is due.
 *
 * When it is due is known by Redis' clock only where the producer had it from Redis, or was told a point in time.
 * Otherwise all there is is the delay, and the spool counts it from this host's clock at the moment of storing. The drain
 * puts the job into the pool at that time or at the time of the drain, whichever is later.
 */
final class SpooledJob
{
    public const POOL = 'pool';

    /** A pool whose scores are in seconds. The drain's sidecar need not know the topic. */
    public const POOL_SECONDS = 'pool_s';
    public const LIST = 'list';

    /** @var string */
    private $kind;

    /** @var string */
    private $key;

    /** @var string */
    private $text;

    /** @var string */
    private $uuid;

    /** @var int|null */
    private $dueMs;

    /** @var int */
    private $delayMs;

    private function __construct(string $kind, string $key, string $text, string $uuid, ?int $dueMs, int $delayMs)
    {
        if ($key === '') {
            throw new \InvalidArgumentException('a spooled job needs the key it belongs to');
        }
        if ($delayMs < 0) {
            throw new \InvalidArgumentException('a delay is at least 0 ms, not ' . $delayMs);
        }
        $this->kind = $kind;
        $this->key = $key;
        $this->text = $text;
        $this->uuid = $uuid;
        $this->dueMs = $dueMs;
        $this->delayMs = $delayMs;
    }

    /**
     * A job of a pool that is due at a known time.
     *
     * @param string $key   `delay:pool:<topic>`, without the client's key prefix
     * @param string $text  the job's text, any bytes
     * @param int    $dueMs ms since the epoch, by Redis' clock
     */
    public static function dueAt(string $key, string $text, string $uuid, int $dueMs): self
    {
        return new self(self::POOL, $key, $text, $uuid, $dueMs, 0);
    }

    /**
     * A job of a pool that is due after a delay; what the time is by Redis' clock is not known.
     *
     * @param string $key  `delay:pool:<topic>`, without the client's key prefix
     * @param string $text the job's text, any bytes
     */
    public static function dueIn(string $key, string $text, string $uuid, int $delayMs): self
    {
        return new self(self::POOL, $key, $text, $uuid, null, $delayMs);
    }

    /**
     * A job of a list: due at once.
     *
     * @param string $key  `queue:<env>:<type>`, with its shard (`_3`) if it has shards, without the client's key prefix
     * @param string $text the job's text, any bytes
     */
    public static function forList(string $key, string $text, string $uuid): self
    {
        return new self(self::LIST, $key, $text, $uuid, null, 0);
    }

    /** The same job for a pool whose scores are in seconds; its times stay in ms. */
    public function scoredInSeconds(): self
    {
        $job = clone $this;
        $job->kind = self::POOL_SECONDS;
        return $job;
    }

    /** SpooledJob::POOL, SpooledJob::POOL_SECONDS or SpooledJob::LIST. */
    public function kind(): string
    {
        return $this->kind;
    }

    /** The Redis key without the client's key prefix. */
    public function key(): string
    {
        return $this->key;
    }

    public function text(): string
    {
        return $this->text;
    }

    /** For people who look for a job; the drain does not go by it. */
    public function uuid(): string
    {
        return $this->uuid;
    }

    /** Ms since the epoch by Redis' clock; null where only the delay is known. */
    public function dueMs(): ?int
    {
        return $this->dueMs;
    }

    /** Counts from the moment of storing; 0 where the due time is known. */
    public function delayMs(): int
    {
        return $this->delayMs;
    }
}
