<?php

declare(strict_types=1);

namespace Sidecar\Circuit;

/**
 * The state in APCu, shared by all children of an FPM master.
 */
final class ApcuState implements CircuitState
{
    /** @var string */
    private $failures;

    /** @var string */
    private $openUntil;

    public function __construct(string $name)
    {
        $this->failures = 'sidecar:circuit:failures:' . $name;
        $this->openUntil = 'sidecar:circuit:until:' . $name;
    }

    public static function isAvailable(): bool
    {
        return \function_exists('apcu_enabled') && \apcu_enabled();
    }

    public function failures(): int
    {
        return (int) \apcu_fetch($this->failures);
    }

    public function openUntil(): int
    {
        return (int) \apcu_fetch($this->openUntil);
    }

    public function countFailure(): int
    {
        return (int) \apcu_inc($this->failures);
    }

    public function move(int $seen, int $next): bool
    {
        \apcu_add($this->openUntil, 0); // apcu_cas() wants one to compare with
        return \apcu_cas($this->openUntil, $seen, $next);
    }

    public function reset(): void
    {
        \apcu_delete($this->failures);
        \apcu_delete($this->openUntil);
    }
}
