<?php

declare(strict_types=1);

namespace Sidecar\Job;

use Sidecar\UnableToEncodeJob;

/**
 * Finds what json_encode() stumbled over: it says what is wrong, but not where.
 *
 * @internal
 */
final class JsonFault
{
    private const DEPTH = 512;

    /**
     * @param mixed  $value what json_encode() refused
     * @param string $why   json_last_error_msg()
     */
    public static function in($value, string $why): UnableToEncodeJob
    {
        return self::search($value, '', 0) ?? UnableToEncodeJob::because($why);
    }

    /** @param mixed $value */
    private static function search($value, string $path, int $depth): ?UnableToEncodeJob
    {
        if ($depth >= self::DEPTH) {
            return UnableToEncodeJob::at((string) \strstr($path, '.', true), 'nested deeper than 512 levels');
        }
        if ($value instanceof \JsonSerializable) {
            return self::search($value->jsonSerialize(), $path, $depth + 1);
        }
        if (!\is_array($value) && !\is_object($value)) {
            $why = self::whyNot($value);
            return $why === '' ? null : UnableToEncodeJob::at($path, $why);
        }
        foreach (\is_array($value) ? $value : \get_object_vars($value) as $name => $child) {
            if (self::whyNot($name) !== '') {
                return UnableToEncodeJob::at($path === '' ? 'the job' : $path, 'a name in it is not UTF-8');
            }
            $fault = self::search($child, $path === '' ? (string) $name : $path . '.' . $name, $depth + 1);
            if ($fault !== null) {
                return $fault;
            }
        }
        return null;
    }

    /** @param mixed $value */
    private static function whyNot($value): string
    {
        if (\is_string($value) && \preg_match('//u', $value) !== 1) {
            return 'not UTF-8';
        }
        if (\is_float($value) && !\is_finite($value)) {
            return \sprintf('%s has no JSON', (string) $value);
        }
        return \is_null($value) || \is_scalar($value) ? '' : 'a ' . \gettype($value) . ' has no JSON';
    }
}
