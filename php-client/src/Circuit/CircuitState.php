<?php

declare(strict_types=1);

namespace Sidecar\Circuit;

/**
 * What the processes of one host know together about one server: two numbers.
 */
interface CircuitState
{
    /** Failures since the last success. */
    public function failures(): int;

    /** Until when nobody asks, in ms of the clock; 0 where nobody has to wait. */
    public function openUntil(): int;

    /** Counts a failure and returns how many it makes. */
    public function countFailure(): int;

    /** Moves openUntil() from $seen to $next. False when somebody else moved it: of many who try, one succeeds. */
    public function move(int $seen, int $next): bool;

    /** No failures, nobody waits. */
    public function reset(): void;
}
