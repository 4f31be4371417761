<?php

declare(strict_types=1);

namespace Sidecar\Circuit;

/**
 * Spares web requests the wait for a server that does not answer.
 *
 * After some failures in a row the circuit is open: nobody asks the server for a time. Then one request may try, and
 * only one in each such time; where it succeeds the circuit is closed again for all.
 */
final class CircuitBreaker
{
    /** @var CircuitState */
    private $state;

    /** @var int */
    private $threshold;

    /** @var int */
    private $openMs;

    /** @var callable */
    private $clock;

    /**
     * @param int           $threshold failures in a row that open it
     * @param int           $openMs    for how long
     * @param callable|null $clock     returns ms; the same clock in all processes that share the state
     */
    public function __construct(CircuitState $state, int $threshold = 3, int $openMs = 5000, ?callable $clock = null)
    {
        $this->state = $state;
        $this->threshold = $threshold;
        $this->openMs = $openMs;
        $this->clock = $clock ?? static function (): int {
            return (int) (\microtime(true) * 1000);
        };
    }

    /** For the server of this name: its state is shared with other processes, by APCu where it is on, else by a file. */
    public static function shared(string $name, int $threshold = 3, int $openMs = 5000): self
    {
        $state = ApcuState::isAvailable() ? new ApcuState($name) : FileState::named($name);
        return new self($state, $threshold, $openMs);
    }

    /** Whether to ask the server. Who is told so says afterwards how it went. */
    public function allows(): bool
    {
        $until = $this->state->openUntil();
        if ($until === 0) {
            return true;
        }
        $now = ($this->clock)();
        // a clock that was set back must not keep it open for longer than meant
        if ($now < $until && $until <= $now + $this->openMs) {
            return false;
        }
        return $this->state->move($until, $now + $this->openMs);
    }

    public function succeeded(): void
    {
        if ($this->state->failures() > 0 || $this->state->openUntil() > 0) {
            $this->state->reset();
        }
    }

    public function failed(): void
    {
        if ($this->state->countFailure() >= $this->threshold) {
            $this->state->move($this->state->openUntil(), ($this->clock)() + $this->openMs);
        }
    }
}
