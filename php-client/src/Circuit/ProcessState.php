<?php

declare(strict_types=1);

namespace Sidecar\Circuit;

/**
 * The state of this process alone: enough for a resident one, while a web request begins with none.
 */
final class ProcessState implements CircuitState
{
    /** @var int */
    private $failures = 0;

    /** @var int */
    private $openUntil = 0;

    public function failures(): int
    {
        return $this->failures;
    }

    public function openUntil(): int
    {
        return $this->openUntil;
    }

    public function countFailure(): int
    {
        return ++$this->failures;
    }

    public function move(int $seen, int $next): bool
    {
        if ($this->openUntil !== $seen) {
            return false;
        }
        $this->openUntil = $next;
        return true;
    }

    public function reset(): void
    {
        $this->failures = 0;
        $this->openUntil = 0;
    }
}
