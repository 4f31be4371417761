<?php

declare(strict_types=1);

require_once __DIR__ . '/common.php';
require_once __DIR__ . '/handler.php';

/** The loops of the old consumer, faults included; how its processes are started does not matter here. */
trait ConsumerCore
{
    private ?Redis $redis = null;
    private array $options;
    private string $poolKey;
    private string $readyKey;
    private string $runningKey;
    private string $deadKey;
    private ?Handler $handler = null;
    private array $sha = [];
    private string $popScript;

    private function initCore(array $options): void
    {
        $this->options = $options;
        $topic = $options['topic'];
        $this->poolKey = "delay:pool:$topic";
        $this->readyKey = "delay:ready:$topic";
        $this->runningKey = "delay:running:$topic";
        $this->deadKey = "delay:dead:$topic";
        $this->popScript = file_get_contents(__DIR__ . '/lua/pop_mark.lua');
        $this->handler = new Handler($options['handler'], $options['log']);
        if ($options['shared-conn']) { // as often deployed: one connection made by the parent, inherited by every child
            $this->redis = redis_open($options['redis']);
        }
    }

    private function childConnect(): void
    {
        if (!$this->options['shared-conn']) {
            $this->redis = redis_open($this->options['redis']);
        }
    }

    private function script(string $name): string
    {
        return $this->sha[$name]
            ??= $this->redis->script('load', file_get_contents(__DIR__ . "/lua/$name.lua"));
    }

    private function scannerLoop(callable $stopped): void
    {
        $this->childConnect();
        $nextReclaim = 0;
        while (!$stopped()) {
            $now = now_ms();
            $moved = $this->move($now);
            if ($moved === false && strpos((string) $this->redis->getLastError(), 'NOSCRIPT') === 0) {
                $this->redis->clearLastError();
                $this->sha = [];
                continue;
            }
            if ($moved === -1) {
                fwrite(STDERR, "ready backlog {$this->options['topic']}\n");
            }
            if ($now >= $nextReclaim) {
                $this->reclaim($now);
                $nextReclaim = $now + $this->options['reclaim-ms'];
            }
            if ($this->options['interval-ms'] > 0) {
                usleep($this->options['interval-ms'] * 1000);
            }
        }
    }

    private function move(int $now)
    {
        $args = [$this->poolKey, $this->readyKey, $now, $this->options['batch'], $this->options['ready-max']];

        return $this->redis->evalSha($this->script('delay_move'), $args, 2);
    }

    private function reclaim(int $now): void
    {
        $args = [$this->runningKey, $this->poolKey, $now, $this->options['batch'], $this->options['back-ms']];
        $this->redis->evalSha($this->script('reclaim'), $args, 2);
    }

    private function workerLoop(callable $stopped): void
    {
        $this->childConnect();
        while (!$stopped()) {
            $raw = $this->popAndMark();
            if ($raw === null) {
                usleep($this->options['idle-us']);
                continue;
            }
            $job = json_decode($raw, true);
            try {
                $this->handle($job);
                $this->redis->zRem($this->runningKey, $raw);
            } catch (\Throwable $e) {
                // as deployed: out of running first, then the decision; a crash in between loses the job
                $this->redis->zRem($this->runningKey, $raw);
                $fault = $this->options['fault-after-zrem'];
                if ($fault > 0 && mt_rand(0, 99) < $fault) {
                    posix_kill(getmypid(), SIGKILL);
                }
                $this->retryOrDead($job, $e);
            }
        }
    }

    private function popAndMark(): ?string
    {
        $args = [$this->readyKey, $this->runningKey, now_ms() + $this->options['visible-ms']];
        $raw = $this->redis->eval($this->popScript, $args, 2);

        return $raw === false ? null : (string) $raw;
    }

    private function handle(array $job): void
    {
        if ($this->options['idem']) { // before the work, and never taken back
            $mark = "idem:{$this->options['topic']}:" . $job['uuid'];
            if (!$this->redis->set($mark, '1', ['nx', 'ex' => 86400])) {
                return;
            }
        }
        ($this->handler)($job);
    }

    private function retryOrDead(array $job, \Throwable $e): void
    {
        $retry = (int) ($job['retry'] ?? 0) + 1;
        $job['retry'] = $retry;
        $job['last_error'] = mb_substr($e->getMessage(), 0, 500);
        if ($retry > 5) {
            $this->redis->rPush($this->deadKey, json_encode([
                'job' => $job,
                'error' => $e->getMessage(),
                'trace' => mb_substr($e->getTraceAsString(), 0, 2000),
                'at' => date('Y-m-d H:i:s'),
            ], JSON_UNESCAPED_UNICODE));

            return;
        }
        $delay = array_map('intval', explode(',', $this->options['ladder']))[$retry];
        $this->redis->zAdd($this->poolKey, now_ms() + $delay, json_encode($job, JSON_UNESCAPED_UNICODE));
    }

    /** @return array<string, int|string> */
    public static function defaults(): array
    {
        return [
            'redis' => '127.0.0.1:6379', 'topic' => 't', 'workers' => 8, 'scanners' => 2,
            'interval-ms' => 100, 'batch' => 200, 'ready-max' => 60000, 'reclaim-ms' => 1000, 'back-ms' => 5000,
            'visible-ms' => 30000, 'idle-us' => 50000, 'ladder' => '0,5000,30000,120000,600000,1800000',
            'handler' => 'noop', 'log' => '', 'idem' => 0, 'shared-conn' => 0, 'fault-after-zrem' => 0,
            'fix-respawn' => 0, 'pidfile' => '',
        ];
    }
}
