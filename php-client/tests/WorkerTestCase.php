<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use RuntimeException;
use Sidecar\Tests\Support\Connection;
use Sidecar\Tests\Support\Fpm;
use Sidecar\Tests\Support\Resident;

/**
 * Keeps resident workers in a real php-fpm, as the sidecar does.
 */
abstract class WorkerTestCase extends BridgeTestCase
{
    /** @var Resident[] */
    private $residents = [];

    /** @var resource[] */
    private $servers = [];

    protected function tearDown(): void
    {
        foreach ($this->servers as $server) {
            \fclose($server);
        }
        foreach ($this->residents as $resident) {
            $resident->end();
        }
        $this->residents = [];
        $this->servers = [];
    }

    /** A worker that has said hello. */
    protected function worker(array $order, ?Fpm $fpm = null, string $address = ''): Resident
    {
        $fpm = $fpm ?? self::fpm();
        $address = $address !== '' ? $address : 'unix://' . $fpm->fresh();
        $server = $this->server($address);
        $order += ['socket' => $address];
        $resident = new Resident(self::request($fpm, $order), $server);
        return $this->residents[] = $resident;
    }

    /** A worker that is ready for jobs. */
    protected function readyWorker(array $order, ?Fpm $fpm = null): Resident
    {
        $worker = $this->worker($order, $fpm);
        $worker->expect('R');
        return $worker;
    }

    /** A worker whose jobs are run by a script with this code. */
    protected function scriptWorker(string $code, array $order = [], ?Fpm $fpm = null): Resident
    {
        $fpm = $fpm ?? self::fpm();
        return $this->readyWorker($order + ['script' => $fpm->file('<?php ' . $code)], $fpm);
    }

    /** A worker whose jobs are run by a call into a bootstrap with this code. */
    protected function callWorker(string $name, string $code, array $order = [], ?Fpm $fpm = null): Resident
    {
        $fpm = $fpm ?? self::fpm();
        return $this->readyWorker($order + ['call' => $name, 'bootstrap' => $fpm->file('<?php ' . $code)], $fpm);
    }

    /** Asks FPM for a worker. */
    protected static function request(Fpm $fpm, array $order): Connection
    {
        $target = ($order['script'] ?? '') !== '' ? $order['script'] : $fpm->bridge();
        $request = new Connection($fpm->address());
        $request->send([
            'GATEWAY_INTERFACE' => 'CGI/1.1',
            'SERVER_PROTOCOL' => 'HTTP/1.1',
            'REQUEST_METHOD' => 'GET',
            'SCRIPT_NAME' => '/' . \basename($target),
            'SCRIPT_FILENAME' => $fpm->bridge(),
            'DOCUMENT_ROOT' => \dirname($target),
            'QUERY_STRING' => '',
            'SIDECAR_TOPIC' => 'orders',
            'SIDECAR_BRIDGE' => \json_encode($order + [
                'mode' => 'worker',
                'nonce' => self::NONCE,
                'token' => self::NONCE,
                'topic' => 'orders',
                'timeout_ms' => 60000,
                'output_limit' => 65536,
            ]),
        ], '');
        return $request;
    }

    /** @return resource */
    protected function server(string $address)
    {
        $server = \stream_socket_server($address, $code, $why);
        if ($server === false) {
            throw new RuntimeException($address . ': ' . $why);
        }
        if (\strncmp($address, 'unix://', 7) === 0) {
            \chmod(\substr($address, 7), 0666);
        }
        return $this->servers[] = $server;
    }

    protected static function assertJobDone(array $verdict, string $output = ''): void
    {
        self::assertSame('done', $verdict['v'], $verdict['error'] . "\n" . $verdict['trace']);
        self::assertSame($output, $verdict['out']);
    }

    protected static function assertJob(string $verdict, string $error, array $content): void
    {
        self::assertSame($verdict, $content['v'], $content['error'] . "\n" . $content['trace']);
        self::assertStringContainsString($error, $content['error']);
    }
}
