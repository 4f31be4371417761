<?php

// The old delay consumer: a parent, its scanners and its workers. See README.md.

declare(strict_types=1);

require __DIR__ . '/consumer_core.php';

final class PcntlPool
{
    use ConsumerCore;

    /** @var array<int, string> role by pid */
    private array $kids = [];
    private bool $shutdown = false;

    public function __construct(array $options)
    {
        $this->initCore($options);
    }

    public function run(): void
    {
        pcntl_async_signals(true);
        for ($i = 0; $i < $this->options['scanners']; $i++) {
            $this->spawn('scanner');
        }
        for ($i = 0; $i < $this->options['workers']; $i++) {
            $this->spawn('worker');
        }
        pcntl_signal(SIGTERM, function (): void {
            $this->shutdown = true;
            foreach (array_keys($this->kids) as $pid) {
                posix_kill($pid, SIGTERM);
            }
        });
        while (!$this->shutdown || $this->kids) {
            $this->reap();
            usleep(100000);
        }
        echo "all workers exited\n";
    }

    private function reap(): void
    {
        $pid = pcntl_waitpid(-1, $status, WNOHANG);
        if ($pid <= 0) {
            return;
        }
        $role = $this->kids[$pid];
        unset($this->kids[$pid]);
        if ($this->shutdown) {
            return;
        }
        usleep(500000);
        // as deployed: whatever died comes back as a worker, a scanner too
        $this->spawn($this->options['fix-respawn'] ? $role : 'worker');
    }

    private function spawn(string $role): void
    {
        $pid = pcntl_fork();
        if ($pid === 0) {
            $stop = false;
            pcntl_signal(SIGTERM, function () use (&$stop): void {
                $stop = true;
            });
            $stopped = function () use (&$stop): bool {
                return $stop;
            };
            $role === 'scanner' ? $this->scannerLoop($stopped) : $this->workerLoop($stopped);
            exit(0);
        }
        $this->kids[$pid] = $role;
    }
}

$options = opts($argv, PcntlPool::defaults());
if ($options['pidfile'] !== '') {
    file_put_contents($options['pidfile'], (string) getmypid());
}
(new PcntlPool($options))->run();
