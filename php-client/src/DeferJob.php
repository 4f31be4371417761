<?php

declare(strict_types=1);

namespace Sidecar;

/**
 * Thrown by a handler: run this job at another time.
 *
 * The sidecar knows it by its short name and asks for delayMs(), so a class DeferJob of your own does as well.
 */
final class DeferJob extends \RuntimeException implements SidecarException
{
    /** @var int */
    private $delayMs = 0;

    /**
     * The job goes back to the pool for so many seconds, and no try is counted.
     *
     * @param int|float $seconds above 0; the sidecar waits at least 1 s and at most a year
     */
    public static function by($seconds, string $why = '', ?\Throwable $previous = null): self
    {
        $deferral = new self($why, 0, $previous);
        $deferral->delayMs = Delay::inMs($seconds);
        return $deferral;
    }

    public function delayMs(): int
    {
        return $this->delayMs;
    }
}
