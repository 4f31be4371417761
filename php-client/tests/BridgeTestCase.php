<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use PHPUnit\Framework\TestCase;
use Sidecar\Tests\Support\Connection;
use Sidecar\Tests\Support\Fpm;
use Sidecar\Tests\Support\Reply;

/**
 * Runs jobs through the bridge in a real php-fpm, as the sidecar does.
 */
abstract class BridgeTestCase extends TestCase
{
    protected const JOB = '{"uuid":"u-1","order_id":"42","paid":true,"tags":["a","b"],"address":{"city":"Oslo"}}';
    protected const NONCE = '00112233445566778899aabbccddeeff';

    /** @var array<string, Fpm> One for each configuration, shared by the tests of a class. */
    private static $fpms = [];

    public static function tearDownAfterClass(): void
    {
        foreach (self::$fpms as $fpm) {
            $fpm->stop();
        }
        self::$fpms = [];
    }

    protected static function fpm(array $ini = [], array $pool = []): Fpm
    {
        $key = \serialize([$ini, $pool]);
        self::$fpms[$key] = self::$fpms[$key] ?? new Fpm($ini, $pool);
        return self::$fpms[$key];
    }

    /** Sends a request for the bridge; the caller receives and closes. */
    protected static function ask(
        Fpm $fpm,
        array $order,
        string $text = self::JOB,
        array $params = [],
        bool $keep = true
    ): Connection {
        $connection = new Connection($fpm->address());
        $connection->send(self::params($fpm, $order, $text, $params), $text, $keep);
        return $connection;
    }

    protected static function params(Fpm $fpm, array $order, string $text, array $params = []): array
    {
        $target = ($order['script'] ?? '') !== '' ? $order['script'] : $fpm->bridge();
        return $params + [
            'GATEWAY_INTERFACE' => 'CGI/1.1',
            'SERVER_SOFTWARE' => 'sidecar',
            'SERVER_PROTOCOL' => 'HTTP/1.1',
            'REQUEST_METHOD' => 'POST',
            'REQUEST_URI' => '/' . \basename($target),
            'SCRIPT_NAME' => '/' . \basename($target),
            'SCRIPT_FILENAME' => $fpm->bridge(),
            'DOCUMENT_ROOT' => \dirname($target),
            'QUERY_STRING' => '',
            'CONTENT_TYPE' => 'application/json',
            'CONTENT_LENGTH' => (string) \strlen($text),
            'SIDECAR_TOPIC' => 'orders',
            'SIDECAR_UUID' => 'u-1',
            'SIDECAR_TRIES' => '0',
            'SIDECAR_CRASHES' => '0',
            'SIDECAR_TIMEOUT_MS' => '60000',
            'SIDECAR_BRIDGE' => \json_encode($order + ['mode' => 'run', 'nonce' => self::NONCE]),
        ];
    }

    protected static function answer(Fpm $fpm, array $order, string $text = self::JOB, array $params = []): Reply
    {
        $connection = self::ask($fpm, $order, $text, $params);
        $reply = $connection->receive();
        $connection->close();
        return $reply;
    }

    /** Runs a job by a script with this code. */
    protected static function script(string $code, array $order = [], ?Fpm $fpm = null, string $text = self::JOB): Reply
    {
        $fpm = $fpm ?? self::fpm();
        return self::answer($fpm, $order + ['script' => $fpm->file('<?php ' . $code)], $text);
    }

    /** Runs a job by a call into a bootstrap with this code. */
    protected static function call(string $name, string $code, array $order = [], string $text = self::JOB): Reply
    {
        $fpm = self::fpm();
        return self::answer($fpm, $order + ['call' => $name, 'bootstrap' => $fpm->file('<?php ' . $code)], $text);
    }

    protected static function assertDone(Reply $reply, string $output = ''): void
    {
        self::assertVerdict('done', '', $reply);
        self::assertSame($output, $reply->output());
    }

    /** The verdict is this one and its error holds this text. */
    protected static function assertVerdict(string $verdict, string $error, Reply $reply): array
    {
        $content = $reply->verdict(self::NONCE);
        self::assertNotNull($content, 'no sign in ' . $reply->stdout . $reply->stderr);
        self::assertSame($verdict, $content['v'], $content['error'] . "\n" . $content['trace']);
        self::assertStringContainsString($error, $content['error']);
        return $content;
    }
}
