<?php

declare(strict_types=1);

namespace Demo;

/**
 * Where every job went, by three witnesses: the producer's ledger, the marks that the business code left, and what is
 * in Redis. The sidecar itself is not asked.
 */
final class Account
{
    /** @var array<string, array<string, int>> events by uuid */
    private array $events = [];

    /** @var array<string, float> first start by uuid, ms */
    private array $started = [];

    /** @var array<string, string> error by uuid */
    private array $dead = [];

    /** @param array<string, array{topic: string, wish: string, due: int, end: string}> $ledger */
    public function __construct(private array $ledger)
    {
    }

    public function read(string $marksFile, \Redis $redis): void
    {
        foreach (file($marksFile, FILE_IGNORE_NEW_LINES) as $line) {
            [$uuid, $event, $at] = explode("\t", $line);
            $this->events[$uuid][$event] = ($this->events[$uuid][$event] ?? 0) + 1;
            if ($event === 'start') {
                $this->started[$uuid] ??= (float) $at;
            }
        }
        foreach (array_unique(array_column($this->ledger, 'topic')) as $topic) {
            foreach ($redis->lRange("delay:dead:$topic", 0, -1) as $text) {
                $record = json_decode($text, true);
                $uuid = $record['job']['uuid'] ?? base64_decode($record['job']['sidecar_raw'] ?? '');
                $this->dead[$uuid] = $record['error'];
            }
        }
    }

    /** @return array<string, int> jobs by what became of them */
    public function rows(): array
    {
        $rows = [];
        foreach (array_keys($this->ledger) as $uuid) {
            $what = $this->fate((string) $uuid);
            $rows[$what] = ($rows[$what] ?? 0) + 1;
        }
        $order = static fn (string $what): array => [strpos($what, 'done') !== 0, $what]; // what is done comes first
        uksort($rows, static fn (string $a, string $b): int => $order($a) <=> $order($b));

        return $rows;
    }

    /** @return string[] what does not add up, one line each */
    public function faults(): array
    {
        $faults = [];
        foreach ($this->ledger as $uuid => $sent) {
            $ends = $this->events[$uuid]['end'] ?? 0;
            $isDead = isset($this->dead[$uuid]);
            if ($ends + (int) $isDead !== 1) {
                $faults[] = "$uuid ($sent[wish]): done $ends times, " . ($isDead ? 'and dead' : 'and not dead');
            } elseif (($sent['end'] === 'dead') !== $isDead) {
                $faults[] = "$uuid ($sent[wish]): should be $sent[end]";
            }
        }
        foreach (array_diff_key($this->dead + $this->events, $this->ledger) as $uuid => $_) {
            $faults[] = "$uuid was never sent";
        }

        return $faults;
    }

    /** @return float[] start − due of the jobs that were due in the future when sent, ms, ascending */
    public function lateness(int $consumingSince): array
    {
        $late = [];
        foreach ($this->ledger as $uuid => $sent) {
            if (isset($this->started[$uuid]) && $sent['due'] > $consumingSince) {
                $late[] = $this->started[$uuid] - $sent['due'];
            }
        }
        sort($late);

        return $late;
    }

    private function fate(string $uuid): string
    {
        $seen = $this->events[$uuid] ?? [];
        if (isset($this->dead[$uuid])) {
            $error = preg_replace(['/\S+@example\.com/', '/ \(read .*/'], '…', $this->dead[$uuid]); // alike in one row
            $runs = $seen['start'] ?? 0;

            return "dead after $runs run" . ($runs === 1 ? '' : 's') . ': ' . mb_strimwidth($error, 0, 70, '…');
        }
        if (!isset($seen['end'])) {
            return 'lost';
        }
        if (isset($seen['fail'])) {
            return 'done after a failed run';
        }
        if (isset($seen['kill'])) {
            return 'done after a run that killed its PHP-FPM child';
        }
        if (isset($seen['defer'])) {
            return 'done after it deferred itself';
        }

        return 'done';
    }
}
