<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Connection;
use Sidecar\Tests\Support\Ear;
use Sidecar\Tests\Support\Fpm;
use Sidecar\Tests\Support\Reply;

/**
 * The hello: before it nothing has run, and without it nothing runs.
 */
final class StartTest extends BridgeTestCase
{
    private static function id(): string
    {
        return \substr(\hash('sha256', 'hello:' . self::NONCE), 0, 16);
    }

    public function testHelloComesWhileTheHandlerStillRuns(): void
    {
        $fpm = self::fpm();
        $go = $fpm->fresh();
        $script = $fpm->file('<?php while (!file_exists("' . $go . '")) { usleep(1000); clearstatcache(); } echo "x";');
        $connection = self::ask($fpm, ['script' => $script]);
        $early = $connection->receiveError('php=');
        self::assertMatchesRegularExpression('/sidecar-hello ' . self::id() . ' pid=\d+ php=\d+\.\d+/', $early->stderr);
        self::assertSame('', $early->stdout);
        \touch($go);
        $reply = $connection->receive();
        self::assertDone($reply, 'x');
        self::assertStringContainsString('pid=' . $reply->verdict(self::NONCE)['pid'] . ' ', $early->stderr);
        $connection->close();
    }

    /**
     * @dataProvider listens
     */
    public function testARunWhoseClientHasGoneNeverStarts(array $pool): void
    {
        $fpm = self::fpm([], $pool);
        $go = $fpm->fresh();
        $ran = $fpm->fresh();
        $busy = self::ask($fpm, ['script' => $fpm->file('<?php while (!file_exists("' . $go . '")) {
            usleep(1000); clearstatcache(); }')]);
        $busy->receiveError('sidecar-hello');
        $script = $fpm->file('<?php touch("' . $ran . '");');
        self::ask($fpm, ['script' => $script])->close(); // queued behind the busy child, then gone
        \touch($go);
        $busy->receive();
        $busy->close();
        self::answer($fpm, ['mode' => 'check']); // the only child has dealt with the dead one by now
        self::assertFileDoesNotExist($ran);
        self::answer($fpm, ['script' => $script]);
        self::assertFileExists($ran);
    }

    public static function listens(): array
    {
        $server = \stream_socket_server('tcp://127.0.0.1:0');
        $address = (string) \stream_socket_get_name($server, false);
        \fclose($server);
        return ['unix' => [[]], 'tcp' => [['listen' => $address]]];
    }

    public function testOnceStartedItRunsToTheEndWithoutItsClient(): void
    {
        $fpm = self::fpm();
        $go = $fpm->fresh();
        $end = $fpm->fresh();
        $script = $fpm->file('<?php while (!file_exists("' . $go . '")) { usleep(1000); clearstatcache(); }
            echo str_repeat("x", 100000); flush(); echo "y"; flush(); touch("' . $end . '");');
        $ear = new Ear($fpm->fresh());
        $connection = self::ask($fpm, ['script' => $script, 'socket' => $ear->address()]);
        $connection->receiveError('sidecar-hello');
        $connection->close();
        \touch($go);
        self::assertSame('done', self::reported($ear)['v']);
        self::assertFileExists($end);
        $ear->close();
    }

    private static function reported(Ear $ear): array
    {
        [$word, $id, $hash, $payload] = \explode(' ', \trim($ear->hear()));
        self::assertSame(['REPORT', self::id()], [$word, $id]);
        $content = Reply::open($hash, $payload, self::NONCE);
        self::assertNotNull($content);
        return $content;
    }

    public function testWithoutFastcgiLoggingTheHelloGoesOverTheSocket(): void
    {
        $fpm = self::fpm(['fastcgi.logging' => '0']);
        $ear = new Ear($fpm->fresh());
        $order = ['script' => $fpm->file('<?php echo "ran";'), 'socket' => $ear->address()];
        foreach (["OK\n" => 'done', "GONE\n" => 'unavailable', '' => 'unavailable'] as $answer => $verdict) {
            $connection = self::ask($fpm, $order);
            $line = $ear->hear($answer);
            $reply = $connection->receive();
            $connection->close();
            $pid = $reply->verdict(self::NONCE)['pid'];
            self::assertMatchesRegularExpression('/^HELLO ' . self::id() . ' ' . $pid . ' \d+\.\S+\n$/', $line);
            self::assertVerdict($verdict, '', $reply);
            self::assertSame($verdict === 'done' ? 'ran' : '', $reply->output());
        }
        $ear->close();
    }

    public function testWhereNoHelloCanBeSaidNothingRuns(): void
    {
        $fpm = self::fpm(['fastcgi.logging' => '0', 'display_errors' => '1']);
        foreach (['', 'unix://' . $fpm->fresh()] as $socket) {
            $reply = self::script('echo "ran";', ['socket' => $socket], $fpm);
            self::assertVerdict('unavailable', 'could not be told', $reply);
            self::assertSame('', $reply->output());
        }
    }

    /**
     * @dataProvider gaps
     */
    public function testAMissingFileIsUnavailableAndSaysNoHello(array $order, string $error): void
    {
        $fpm = self::fpm(['display_errors' => '1']);
        $order = \array_map(static function (string $path) use ($fpm): string {
            return \str_replace('{dir}', $fpm->path(''), $path);
        }, $order);
        $reply = self::answer($fpm, $order + ['script' => $fpm->file('<?php echo "ran";')]);
        self::assertVerdict('unavailable', $error, $reply);
        self::assertSame('', $reply->output());
        self::assertStringNotContainsString('sidecar-hello', $reply->stderr);
    }

    public static function gaps(): array
    {
        return [
            'script' => [['script' => '/srv/no/such.php'], 'script /srv/no/such.php'],
            'bootstrap' => [['bootstrap' => '/srv/no/such.php'], 'bootstrap /srv/no/such.php'],
            'a directory' => [['script' => '{dir}'], 'cannot be read'],
        ];
    }

    public function testAFileThatThePoolMayNotReadIsUnavailable(): void
    {
        $script = self::fpm()->file('<?php echo "ran";');
        \chmod($script, 0);
        self::assertVerdict('unavailable', $script, self::answer(self::fpm(), ['script' => $script]));
    }

    public function testAShortBodyIsAFailureThatNamesPostMaxSize(): void
    {
        $fpm = self::fpm(['enable_post_data_reading' => '1']);
        $connection = new Connection($fpm->address());
        $params = self::params($fpm, ['script' => $fpm->file('<?php echo "ran";')], self::JOB);
        $connection->send(['CONTENT_LENGTH' => '20'] + $params, self::JOB);
        // PHP cut the text at CONTENT_LENGTH, which is right as such: what counts is that both agree.
        self::assertDone($connection->receive(), 'ran');
        $connection->close();
        $prepend = $fpm->file('<?php $_SERVER["CONTENT_LENGTH"] = "999";');
        $fpm = self::fpm(['auto_prepend_file' => $prepend, 'post_max_size' => '3M']);
        $reply = self::script('echo "ran";', [], $fpm);
        self::assertVerdict('failed', \strlen(self::JOB) . " of the job's 999 bytes: post_max_size is 3M", $reply);
        self::assertSame('', $reply->output());
    }

    public function testATextAbovePostMaxSizeIsNeverTakenForAnEmptyOne(): void
    {
        $fpm = self::fpm(['post_max_size' => '1M']);
        $text = '{"x":"' . \str_repeat('y', 2 << 20) . '"}';
        $reply = self::script('echo strlen($job["x"]);', [], $fpm, $text);
        $content = $reply->verdict(self::NONCE);
        if ($content['v'] === 'done') { // FPM-FACTS 7: php://input holds it all, up to a limit of its own
            self::assertSame((string) (2 << 20), $reply->output());
        } else {
            self::assertVerdict('failed', 'post_max_size', $reply);
        }
    }

    public function testWithoutAnOrderTheFileDoesNothing(): void
    {
        $fpm = self::fpm(['display_errors' => '1']);
        foreach ([null, '', 'x', '[]', '{"mode":"run"}', '{"mode":"run","nonce":""}'] as $order) {
            $connection = new Connection($fpm->address());
            $params = self::params($fpm, [], self::JOB);
            $params['SIDECAR_BRIDGE'] = $order;
            $connection->send(\array_filter($params, 'is_string'), self::JOB);
            $reply = $connection->receive();
            $connection->close();
            self::assertSame(403, $reply->status());
            self::assertSame("This file is run by the sidecar.\n", $reply->output());
        }
    }
}
