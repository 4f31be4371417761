<?php

declare(strict_types=1);

namespace Sidecar;

/**
 * Seconds, as people say them, in whole milliseconds.
 *
 * @internal
 */
final class Delay
{
    private const MAX_SECONDS = 100 * 365 * 86400;

    /** @param mixed $seconds an int or a float from 0 to a hundred years */
    public static function inMs($seconds): int
    {
        if (!\is_int($seconds) && !\is_float($seconds)) {
            throw InvalidArgument::because('a delay is a number of seconds, not ' . \gettype($seconds));
        }
        if (!($seconds >= 0 && $seconds <= self::MAX_SECONDS)) { // NAN is neither
            throw InvalidArgument::because(\sprintf('a delay is from 0 s to 100 years, not %s s', (string) $seconds));
        }
        return (int) \round($seconds * 1000);
    }
}
