<?php

declare(strict_types=1);

/**
 * The business code of the old consumers, for measuring and for tests.
 *
 * Spec: noop | usleep:US | busy:MS | json | fail | failrate:PCT | suicide:PCT. With a log prefix every run leaves
 * "S id start_ms due_ms pid" and, when it ended, "E id end_ms pid" in PREFIX.<pid>, one write(2) each, so that the
 * lines survive kill -9.
 */
final class Handler
{
    /** @var resource|null */
    private $file = null;
    private string $kind;
    private int $arg;
    private string $document = '';

    public function __construct(string $spec, private string $log = '')
    {
        [$this->kind, $arg] = array_pad(explode(':', $spec, 2), 2, '0');
        $this->arg = (int) $arg;
        if ($this->kind === 'json') {
            $this->document = self::fourKilobytes();
        }
    }

    public function __invoke(array $job): void
    {
        $id = $job['uuid'] ?? ($job['job_id'] ?? '?');
        $this->note(sprintf("S %s %.1f %s %d\n", $id, microtime(true) * 1000, $job['due'] ?? 0, getmypid()));
        $this->work($id, $job);
        $this->note(sprintf("E %s %.1f %d\n", $id, microtime(true) * 1000, getmypid()));
    }

    private function work(string $id, array $job): void
    {
        switch ($this->kind) {
            case 'noop':
                break;
            case 'usleep':
                usleep($this->arg);
                break;
            case 'busy': // spins: unlike usleep it is not cut short by a signal
                for ($end = microtime(true) + $this->arg / 1000; microtime(true) < $end;) {
                }
                break;
            case 'json':
                $this->reprice($id);
                break;
            case 'fail':
                throw new RuntimeException('injected failure');
            case 'failrate':
                if (crc32($id . ($job['retry'] ?? $job['retry_count'] ?? 0)) % 100 < $this->arg) {
                    throw new RuntimeException('injected failure');
                }
                break;
            case 'suicide':
                if (crc32($id) % 100 < $this->arg) {
                    posix_kill(getmypid(), SIGKILL);
                }
                break;
            default:
                throw new LogicException("handler {$this->kind}?");
        }
    }

    private function reprice(string $id): void
    {
        $rows = json_decode($this->document, true);
        $sum = 0;
        foreach ($rows as &$row) {
            $row['price'] = $row['price'] * 1.1;
            $sum += $row['price'];
        }
        unset($row);
        $rows[] = ['sum' => $sum, 'id' => $id];
        md5(json_encode($rows));
    }

    private function note(string $line): void
    {
        if ($this->log === '') {
            return;
        }
        $this->file ??= fopen($this->log . '.' . getmypid(), 'a');
        fwrite($this->file, $line);
    }

    private static function fourKilobytes(): string
    {
        $rows = [];
        for ($i = 0; $i < 50; $i++) {
            $rows[] = [
                'id' => $i,
                'sku' => "SKU-$i",
                'name' => str_repeat('n', 20),
                'price' => $i * 1.25,
                'tags' => ['a', 'b', 'c'],
            ];
        }

        return json_encode($rows);
    }
}
