<?php

declare(strict_types=1);

namespace Sidecar\Job;

use Sidecar\UnableToEncodeJob;

/**
 * A job as it stands in Redis: one JSON object with a name of its own (CONTRACT 1.2 and 2).
 *
 * What is given stays where and as it is: arrays and objects as json_encode() with JSON_UNESCAPED_UNICODE writes them,
 * a string byte for byte. What the contract wants and the job lacks is added behind it, in the contract's order.
 *
 * @internal
 */
final class JobText
{
    private const FLAGS = \JSON_UNESCAPED_UNICODE;
    private const MAX_RETRY = 3;

    /** @var string */
    private $text;

    /** @var string */
    private $uuid;

    private function __construct(string $text, string $uuid)
    {
        $this->text = $text;
        $this->uuid = $uuid;
    }

    /**
     * A job of a topic: it needs its uuid, the rest is the business's.
     *
     * @param array|object|string $job
     */
    public static function ofTopic($job): self
    {
        $text = self::encode($job);
        return self::named($text, self::fields($text), 'uuid', []);
    }

    /**
     * A job of a list. One that comes as JSON only gets a job_id, where it has none.
     *
     * @param array|object|string $job
     * @param string              $type where the job names none
     * @param int                 $now  seconds since the epoch
     */
    public static function ofList($job, string $type, int $now): self
    {
        $text = self::encode($job);
        $defaults = [
            'type' => $type,
            'payload' => new \stdClass(),
            'retry_count' => 0,
            'max_retry' => self::MAX_RETRY,
            'created_at' => $now,
        ];
        return self::named($text, self::fields($text), 'job_id', \is_string($job) ? [] : $defaults);
    }

    public function text(): string
    {
        return $this->text;
    }

    /** The uuid, in a list the job_id. */
    public function uuid(): string
    {
        return $this->uuid;
    }

    private static function named(string $text, array $fields, string $name, array $defaults): self
    {
        if (!\array_key_exists($name, $fields)) {
            $uuid = Uuid::v4();
            return new self(self::append($text, \array_diff_key([$name => $uuid] + $defaults, $fields)), $uuid);
        }
        $uuid = $fields[$name];
        if (!\is_int($uuid) && (!\is_string($uuid) || $uuid === '')) {
            throw UnableToEncodeJob::at($name, 'want a text that is not empty, or no such field: then it gets one');
        }
        return new self(self::append($text, \array_diff_key($defaults, $fields)), (string) $uuid);
    }

    /** @param mixed $job */
    private static function encode($job): string
    {
        if (\is_string($job)) {
            return $job;
        }
        if (!\is_array($job) && !\is_object($job)) {
            throw UnableToEncodeJob::because('a job is an array, an object or a JSON text, not ' . \gettype($job));
        }
        if ($job === []) {
            return '{}';
        }
        try {
            $text = \json_encode($job, self::FLAGS);
        } catch (\Exception $thrown) { // by a jsonSerialize()
            throw UnableToEncodeJob::because($thrown->getMessage(), $thrown);
        }
        if ($text === false) {
            throw JsonFault::in($job, \json_last_error_msg());
        }
        return $text;
    }

    /** The fields as a handler will read them; a text that json_decode() refuses would be no job. */
    private static function fields(string $text): array
    {
        $fields = \json_decode($text, true);
        if (\json_last_error() !== \JSON_ERROR_NONE) {
            throw UnableToEncodeJob::because('no JSON that PHP reads: ' . \json_last_error_msg());
        }
        if (!\is_array($fields) || \ltrim($text, " \t\r\n")[0] !== '{') {
            throw UnableToEncodeJob::because('a job is a JSON object, with names for its fields');
        }
        return $fields;
    }

    private static function append(string $text, array $fields): string
    {
        if ($fields === []) {
            return $text;
        }
        $end = (int) \strrpos($text, '}');
        $head = \substr($text, 0, $end);
        $comma = \substr(\rtrim($head, " \t\r\n"), -1) === '{' ? '' : ',';
        $more = \substr((string) \json_encode($fields, self::FLAGS), 1, -1);
        return $head . $comma . $more . \substr($text, $end);
    }
}
