<?php

declare(strict_types=1);

namespace Sidecar\Wire;

/** What the old consumer and its scripts write, as texts: the failure path and the replay of CONTRACT 1.3 and 1.5. */
final class OldConsumer
{
    /** The text that json_encode makes of a decoded one; the promise of equal bytes holds where it is the same. */
    public static function keeps(string $text): bool
    {
        $job = json_decode($text, true);
        return is_array($job) && self::encode($job) === $text;
    }

    /** How often the job has failed so far, as the old consumer counts. */
    public static function tries(string $text): int
    {
        return (int) (json_decode($text, true)['retry'] ?? 0);
    }

    /** The job as it goes back to the pool after a failure, or into the dead record. */
    public static function failed(string $text, string $error): string
    {
        return self::encode(self::failedJob($text, $error));
    }

    public static function dead(string $text, string $error, string $trace, string $at): string
    {
        return self::encode([
            'job' => self::failedJob($text, $error),
            'error' => $error,
            'trace' => mb_substr($trace, 0, 2000),
            'at' => $at,
        ]);
    }

    /** What the old replay script adds to the pool for a dead record. */
    public static function replayed(string $record, string $at): string
    {
        $job = json_decode($record, true)['job'];
        $job['retry'] = 0;
        $job['replayed_at'] = $at;
        return self::encode($job);
    }

    /** @return array<mixed> */
    private static function failedJob(string $text, string $error): array
    {
        $job = json_decode($text, true);
        $job['retry'] = (int) ($job['retry'] ?? 0) + 1;
        $job['last_error'] = mb_substr($error, 0, 500);
        return $job;
    }

    /** @param array<mixed> $value */
    private static function encode(array $value): string
    {
        return json_encode($value, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
    }
}
