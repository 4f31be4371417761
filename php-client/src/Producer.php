<?php

declare(strict_types=1);

namespace Sidecar;

use Sidecar\Connection\Connections;
use Sidecar\Job\JobText;

/**
 * Writes jobs for the sidecar, and for the old consumers: the bytes of the contract, due by Redis' own clock.
 *
 * A job is an array, an object or a JSON text. It is enqueued once its uuid is returned: it is in Redis then, or in the
 * spool where there is one.
 */
final class Producer
{
    /** @var Outbox */
    private $outbox;

    /** @var Options */
    private $options;

    private function __construct(Outbox $outbox, Options $options)
    {
        $this->outbox = $outbox;
        $this->options = $options;
    }

    /**
     * @param mixed                $redis   redis://host:port/db (made at the first job, with the timeouts below), a
     *                                      \Redis, \RedisCluster or Predis\ClientInterface that is there, or a callable
     *                                      that makes one
     * @param array<string, mixed> $options topics, lists, connect_timeout, read_timeout, circuit, serialized, spool,
     *                                      on_spooled: see the README
     *
     * @throws SidecarException nothing can be written this way
     */
    public static function to($redis, array $options = []): self
    {
        $checked = new Options($options);
        $connections = new Connections($checked->mayPack(), $checked->connectTimeout(), $checked->readTimeout());
        $connection = $connections->of($redis);
        $circuit = $checked->circuit($connection->name());
        return new self(new Sender($connection, $circuit, $checked->spool(), $checked->onSpooled()), $checked);
    }

    /**
     * The job runs after so many seconds.
     *
     * @param array|object|string $job   with its uuid, or it gets one
     * @param int|float           $delay seconds, from 0
     *
     * @return string the job's uuid
     *
     * @throws SidecarException the job is not enqueued: UnableToEnqueue, UnableToEncodeJob, InvalidArgument
     */
    public function later(string $topic, $job, $delay): string
    {
        return $this->putOne($this->dueIn($topic, $job, Delay::inMs($delay)));
    }

    /**
     * The job runs at a time, or at once where that has passed.
     *
     * @param array|object|string $job with its uuid, or it gets one
     *
     * @return string the job's uuid
     *
     * @throws SidecarException the job is not enqueued
     */
    public function at(string $topic, $job, \DateTimeInterface $when): string
    {
        $ms = (int) $when->format('U') * 1000 + (int) $when->format('v');
        if ($ms < 0) {
            throw InvalidArgument::because('a job is due after 1970, not at ' . $when->format('c'));
        }
        $entry = Entry::dueAt($this->pool($topic), JobText::ofTopic($job), $ms, $this->options->unit($topic));
        return $this->putOne($entry);
    }

    /**
     * The job runs as soon as a worker of the list is free.
     *
     * @param array|object|string $job     with its job_id, or it gets one
     * @param string|null         $shardBy what chooses the shard of a list with shards, such as an order's number;
     *                                     null: the job_id
     *
     * @return string the job's job_id
     *
     * @throws SidecarException the job is not enqueued
     */
    public function push(string $list, $job, ?string $shardBy = null): string
    {
        return $this->putOne($this->ofList($list, $job, $shardBy));
    }

    /**
     * Many jobs in few round trips, in their order.
     *
     * @param iterable<array|object|string> $jobs
     * @param int|float                     $delay seconds, from 0
     *
     * @return string[] the uuids, by the keys of $jobs
     *
     * @throws SidecarException UnableToEnqueue says which ones are enqueued; after another one none is
     */
    public function laterMany(string $topic, iterable $jobs, $delay): array
    {
        $entries = [];
        $delayMs = Delay::inMs($delay);
        foreach ($jobs as $key => $job) {
            $entries[$key] = $this->dueIn($topic, $job, $delayMs);
        }
        return $this->putAll($entries);
    }

    /**
     * Many jobs in few round trips, in their order.
     *
     * @param iterable<array|object|string> $jobs
     * @param callable|null                 $shardBy gets a job and returns what chooses its shard
     *
     * @return string[] the job_ids, by the keys of $jobs
     *
     * @throws SidecarException UnableToEnqueue says which ones are enqueued; after another one none is
     */
    public function pushMany(string $list, iterable $jobs, ?callable $shardBy = null): array
    {
        $entries = [];
        foreach ($jobs as $key => $job) {
            $entries[$key] = $this->ofList($list, $job, $shardBy === null ? null : (string) $shardBy($job));
        }
        return $this->putAll($entries);
    }

    /**
     * Any jobs in few round trips: those that $fill gives to the producer it is called with go out when it returns.
     *
     * @param callable $fill gets a Producer; when it throws, nothing goes out
     *
     * @return string[] the uuids, in order
     *
     * @throws SidecarException UnableToEnqueue says which ones are enqueued; after another one none is
     */
    public function bulk(callable $fill): array
    {
        $basket = new Basket();
        $fill(new self($basket, $this->options));
        return $this->putAll($basket->entries());
    }

    /** @param mixed $job */
    private function dueIn(string $topic, $job, int $delayMs): Entry
    {
        return Entry::dueIn($this->pool($topic), JobText::ofTopic($job), $delayMs, $this->options->unit($topic));
    }

    /** @param mixed $job */
    private function ofList(string $list, $job, ?string $shardBy): Entry
    {
        if ($list === '') {
            throw InvalidArgument::because('a list has a key, such as queue:prod:send_sms');
        }
        $job = JobText::ofList($job, \substr((string) \strrchr(':' . $list, ':'), 1), \time());
        $shards = $this->options->shards($list);
        $key = $shards === 0 ? $list : $list . '_' . self::shard($shardBy ?? $job->uuid(), $shards);
        return Entry::ofList($key, $job);
    }

    /** crc32(id) % shards (CONTRACT 2), also where PHP's integers have 32 bits. */
    private static function shard(string $id, int $shards): int
    {
        return (int) \fmod((float) \sprintf('%u', \crc32($id)), $shards);
    }

    private function pool(string $topic): string
    {
        if ($topic === '') {
            throw InvalidArgument::because('a topic has a name');
        }
        return 'delay:pool:' . $topic;
    }

    private function putOne(Entry $entry): string
    {
        $this->outbox->put([$entry]);
        return $entry->uuid();
    }

    /**
     * @param Entry[] $entries
     *
     * @return string[]
     */
    private function putAll(array $entries): array
    {
        $this->outbox->put($entries);
        return \array_map(static function (Entry $entry): string {
            return $entry->uuid();
        }, $entries);
    }
}
