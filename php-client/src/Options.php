<?php

declare(strict_types=1);

namespace Sidecar;

use Sidecar\Circuit\CircuitBreaker;
use Sidecar\Spool\Spool;

/**
 * The producer's options, checked as a whole.
 *
 * @internal
 */
final class Options
{
    private const DEFAULTS = [
        'topics' => [],
        'lists' => [],
        'connect_timeout' => 0.2,
        'read_timeout' => 0.5,
        'circuit' => [],
        'serialized' => 'refuse',
        'spool' => null,
        'on_spooled' => null,
    ];
    private const CIRCUIT = ['failures' => 3, 'open_for' => 5.0, 'name' => ''];
    private const UNITS = ['ms' => 1, 's' => 1000];

    /** @var array */
    private $values;

    /** @var string[] */
    private $faults = [];

    /** @param array<string, mixed> $options */
    public function __construct(array $options)
    {
        $this->known('', $options, self::DEFAULTS);
        $this->values = $options + self::DEFAULTS;
        $this->entries('topics', 'score_unit', 'ms or s', static function ($unit): bool {
            return \is_string($unit) && isset(self::UNITS[$unit]);
        });
        $this->entries('lists', 'shards', 'a whole number from 0', static function ($shards): bool {
            return \is_int($shards) && $shards >= 0;
        });
        foreach (['connect_timeout', 'read_timeout'] as $name) {
            $this->want(self::isPositive($this->values[$name]), $name, 'seconds above 0');
        }
        $this->want(\in_array($this->values['serialized'], ['refuse', 'allow'], true), 'serialized', 'refuse or allow');
        $this->want($this->isNullOr(Spool::class, 'spool'), 'spool', 'a ' . Spool::class);
        $callback = $this->values['on_spooled'];
        $this->want($callback === null || \is_callable($callback), 'on_spooled', 'a callable');
        $this->checkCircuit();
        if ($this->faults !== []) {
            throw InvalidArgument::options($this->faults);
        }
    }

    /** Milliseconds in one unit of this topic's scores. */
    public function unit(string $topic): int
    {
        return self::UNITS[$this->values['topics'][$topic]['score_unit'] ?? 'ms'];
    }

    /** 0: the key is the list itself. */
    public function shards(string $list): int
    {
        return $this->values['lists'][$list]['shards'] ?? 0;
    }

    public function connectTimeout(): float
    {
        return (float) $this->values['connect_timeout'];
    }

    public function readTimeout(): float
    {
        return (float) $this->values['read_timeout'];
    }

    public function mayPack(): bool
    {
        return $this->values['serialized'] === 'allow';
    }

    public function spool(): ?Spool
    {
        return $this->values['spool'];
    }

    public function onSpooled(): ?callable
    {
        return $this->values['on_spooled'];
    }

    /** @param string $server names the circuit where the options do not */
    public function circuit(string $server): CircuitBreaker
    {
        $circuit = $this->values['circuit'];
        if ($circuit instanceof CircuitBreaker) {
            return $circuit;
        }
        $circuit += self::CIRCUIT;
        $name = $circuit['name'] === '' ? $server : $circuit['name'];
        return CircuitBreaker::shared($name, $circuit['failures'], (int) \ceil($circuit['open_for'] * 1000));
    }

    private function checkCircuit(): void
    {
        $circuit = $this->values['circuit'];
        if ($circuit instanceof CircuitBreaker) {
            return;
        }
        if (!\is_array($circuit)) {
            $this->want(false, 'circuit', 'an array or a ' . CircuitBreaker::class);
            return;
        }
        $this->known('circuit.', $circuit, self::CIRCUIT);
        $circuit += self::CIRCUIT;
        $failures = $circuit['failures'];
        $this->want(\is_int($failures) && $failures > 0, 'circuit.failures', 'a whole number above 0');
        $this->want(self::isPositive($circuit['open_for']), 'circuit.open_for', 'seconds above 0');
        $this->want(\is_string($circuit['name']), 'circuit.name', 'a name');
    }

    /** Each value of the option is an array with nothing but $field, which $holds. */
    private function entries(string $option, string $field, string $wanted, callable $holds): void
    {
        if (!\is_array($this->values[$option])) {
            $this->want(false, $option, "an array [name => ['" . $field . "' => …]]");
            return;
        }
        foreach ($this->values[$option] as $name => $entry) {
            $path = $option . '.' . $name . '.';
            if (!\is_array($entry)) {
                $this->want(false, $option . '.' . $name, "an array ['" . $field . "' => …]");
                continue;
            }
            $this->known($path, $entry, [$field => null]);
            $this->want(!isset($entry[$field]) || $holds($entry[$field]), $path . $field, $wanted);
        }
    }

    private function known(string $path, array $given, array $known): void
    {
        foreach (\array_keys(\array_diff_key($given, $known)) as $name) {
            $this->faults[] = $path . $name . ': no such option';
        }
    }

    private function want(bool $holds, string $option, string $wanted): void
    {
        if (!$holds) {
            $this->faults[] = $option . ': want ' . $wanted;
        }
    }

    private function isNullOr(string $class, string $option): bool
    {
        return $this->values[$option] === null || $this->values[$option] instanceof $class;
    }

    /** @param mixed $seconds */
    private static function isPositive($seconds): bool
    {
        return (\is_int($seconds) || \is_float($seconds)) && $seconds > 0 && $seconds < \PHP_INT_MAX / 1000;
    }
}
