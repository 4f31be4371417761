<?php

declare(strict_types=1);

namespace Sidecar;

/**
 * Thrown by a handler: run this job at another time.
 *
 * The sidecar knows it by its short name and asks for delay(), so a class DeferJob of your own does as well.
 */
final class DeferJob extends \RuntimeException implements SidecarException
{
    /** @var int|float */
    private $seconds = 0;

    /**
     * The job goes back to the pool for so long, and no try is counted.
     *
     * @param int|float $seconds above 0: at least 1 s and at most a year will pass; for what is no delay it is 5 s,
     *                           for a handler that defers must not fail over the number
     */
    public static function by($seconds, string $why = '', ?\Throwable $previous = null): self
    {
        $deferral = new self($why, 0, $previous);
        $deferral->seconds = $seconds;
        return $deferral;
    }

    /** @return int|float seconds */
    public function delay()
    {
        return $this->seconds;
    }
}
