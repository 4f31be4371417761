<?php

// Watches the demo until every job is settled, then prints the account. Exit code 0 when it adds up.
// Usage: watch.php SIDECAR DIR PID

declare(strict_types=1);

use Demo\Account;

require __DIR__ . '/Account.php';

const PATIENCE = 60; // seconds

[, $sidecar, $dir, $pid] = $argv;

/** @return array<string, int> the depths of all topics, added up */
function depths(string $sidecar, string $dir): array
{
    $command = sprintf('%s status --json -c %s', escapeshellarg($sidecar), escapeshellarg("$dir/sidecar.toml"));
    $status = json_decode((string) shell_exec($command), true);
    $sums = [];
    foreach (['pool', 'ready', 'running', 'dead'] as $key) {
        $sums[$key] = array_sum(array_column($status['topics'] ?? [], $key));
    }

    return $sums;
}

function count_done(string $dir): int
{
    return substr_count((string) file_get_contents("$dir/marks"), "\tend\t");
}

function show_progress(array $depths, int $done, int $total): void
{
    $filled = intdiv(30 * ($done + $depths['dead']), max(1, $total));
    $line = sprintf(
        '[%s] done %d  pool %d  ready %d  running %d  dead %d',
        str_pad(str_repeat('#', $filled), 30, '.'),
        $done,
        $depths['pool'],
        $depths['ready'],
        $depths['running'],
        $depths['dead']
    );
    echo stream_isatty(STDOUT) ? "\r$line\033[K" : "$line\n";
}

function is_alive(string $pid): bool
{
    return posix_kill((int) $pid, 0);
}

/** Until nothing waits and nothing runs; false when that does not come. */
function watch(string $sidecar, string $dir, string $pid, int $total): bool
{
    $pause = stream_isatty(STDOUT) ? 200000 : 1000000;
    $end = microtime(true) + PATIENCE;
    do {
        usleep($pause);
        $depths = depths($sidecar, $dir);
        $done = count_done($dir);
        show_progress($depths, $done, $total);
        if ($done + $depths['dead'] >= $total && $depths['pool'] + $depths['ready'] + $depths['running'] === 0) {
            return true;
        }
    } while (microtime(true) < $end && is_alive($pid));

    return false;
}

function print_account(Account $account, int $total): void
{
    echo "\n\nWhere the $total jobs went:\n";
    $sum = 0;
    foreach ($account->rows() as $what => $count) {
        printf("  %5d  %s\n", $count, $what);
        $sum += $count;
    }
    printf("  -----\n  %5d  in all\n", $sum);
}

function print_lateness(array $late): void
{
    if ($late === []) {
        return;
    }
    $at = static fn (float $q): float => $late[(int) floor($q * (count($late) - 1))];
    printf(
        "\nFrom due time to the first line of PHP, %d delayed jobs, some behind the burst at the start: "
            . "p50 %.1f ms, p99 %.1f ms\n",
        count($late),
        $at(0.5),
        $at(0.99)
    );
}

$since = (int) (microtime(true) * 1000) + 1000; // the burst at the start is not lateness
$ledger = unserialize((string) file_get_contents("$dir/ledger"));
$settled = watch($sidecar, $dir, $pid, count($ledger));

$redis = new Redis();
$redis->connect("$dir/redis.sock");
$account = new Account($ledger);
$account->read("$dir/marks", $redis);
print_account($account, count($ledger));
print_lateness($account->lateness($since));

$faults = $account->faults();
if (!$settled) {
    $faults[] = is_alive($pid) ? 'not settled within ' . PATIENCE . ' s' : 'the sidecar has ended';
}
foreach (array_slice($faults, 0, 10) as $fault) {
    fwrite(STDERR, "fault: $fault\n");
}
if (count($faults) > 10) {
    fprintf(STDERR, "and %d more\n", count($faults) - 10);
}
exit($faults === [] ? 0 : 1);
