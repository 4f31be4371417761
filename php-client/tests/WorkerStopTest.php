<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Fpm;
use Sidecar\Tests\Support\Poll;
use Sidecar\Tests\Support\Resident;

/**
 * mode worker: FPM's reload and stop are not held up, and a worker lives in restricted pools too.
 */
final class WorkerStopTest extends WorkerTestCase
{
    private const SLEEPS = 'function h($job) { $end = microtime(true) + $job["s"];'
        . ' while (microtime(true) < $end) { usleep(10000); } }';

    /** @var Fpm|null */
    private $own;

    protected function tearDown(): void
    {
        parent::tearDown();
        if ($this->own !== null) {
            $this->own->stop();
            $this->own = null;
        }
    }

    /**
     * @dataProvider pools
     */
    public function testAnIdleWorkerLeavesAtOnce(array $ini, array $pool, int $signal): void
    {
        $fpm = $this->graceful($ini, $pool);
        $worker = $this->callWorker('h', self::SLEEPS, [], $fpm);
        self::assertJobDone($worker->run(1, '{"s":0}'));
        $stat = '/proc/' . $worker->hello()['pid'] . '/stat';
        Poll::until('the worker waits', static function () use ($stat): bool {
            return \strpos((string) \file_get_contents($stat), ') S ') !== false;
        });
        $start = \microtime(true);
        $fpm->signal($signal);
        self::assertSame(1, $worker->bye('fpm_stop')['jobs']);
        self::assertTrue($worker->reply()->ended);
        self::assertLessThan(2.0, \microtime(true) - $start); // the limit is 30 s
    }

    public static function pools(): array
    {
        return [
            'reload' => [[], [], \SIGUSR2],
            'stop' => [[], [], \SIGQUIT],
            'reload with TCP' => [[], ['listen' => self::freeAddress()], \SIGUSR2],
            'reload without /proc' => [['open_basedir' => '{dir}'], [], \SIGUSR2],
        ];
    }

    public function testABusyWorkerLeavesAfterItsJob(): void
    {
        $fpm = $this->graceful();
        $worker = $this->callWorker('h', self::SLEEPS . ' echo getmypid();', [], $fpm);
        $worker->write(Resident::job(1, '{"s":0.3}') . Resident::job(2, '{"s":0.3}') . Resident::job(3, '{"s":0.3}'));
        self::assertJobDone($worker->verdict(1));
        $fpm->signal(\SIGUSR2);
        self::assertJobDone($worker->verdict(2));
        self::assertSame(2, $worker->bye('fpm_stop')['jobs']);
    }

    public function testItConnectsOverTcpAndUnderOpenBasedir(): void
    {
        $fpm = self::fpm(['open_basedir' => '{dir}', 'allow_url_fopen' => '0']);
        $address = 'tcp://' . self::freeAddress();
        $order = ['call' => 'h', 'bootstrap' => $fpm->file('<?php function h() { echo "ran"; }')];
        $worker = $this->worker($order, $fpm, $address);
        $worker->expect('R');
        self::assertJobDone($worker->run(1, '{}'), 'ran');
        $worker->send('E');
        $worker->bye('end');
    }

    public function testWithoutAFunctionThatItNeedsItSaysSo(): void
    {
        $fpm = self::fpm(['disable_functions' => 'stream_select']);
        $request = self::request($fpm, ['call' => 'strlen', 'socket' => 'unix:///nowhere']);
        self::assertVerdict('unavailable', 'stream_select(), which is disabled', $request->receive());
        $request->close();
    }

    public function testWithoutFunctionsThatItCanDoWithoutItWorks(): void
    {
        $disabled = 'set_time_limit,ini_set,ini_get,setlocale,getcwd,chdir,gc_collect_cycles,gc_mem_caches,readlink,'
            . 'scandir,ignore_user_abort,getmypid,error_log,hrtime,date_default_timezone_set,error_reporting,'
            . 'file_get_contents';
        $fpm = self::fpm(['disable_functions' => $disabled]);
        $worker = $this->callWorker('h', 'function h() { echo "ran"; }', [], $fpm);
        self::assertJobDone($worker->run(1, '{}'), 'ran');
        self::assertJobDone($worker->run(2, '{}'), 'ran');
    }

    private function graceful(array $ini = [], array $pool = []): Fpm
    {
        $this->own = new Fpm($ini, $pool, ['process_control_timeout' => '30s']);
        return $this->own;
    }

    private static function freeAddress(): string
    {
        $server = \stream_socket_server('tcp://127.0.0.1:0');
        self::assertNotFalse($server);
        $address = (string) \stream_socket_get_name($server, false);
        \fclose($server);
        return $address;
    }
}
