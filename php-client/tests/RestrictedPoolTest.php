<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Ear;
use Sidecar\Tests\Support\Reply;

/**
 * Pools that forbid a lot.
 */
final class RestrictedPoolTest extends BridgeTestCase
{
    /** What hardening guides and hosters disable. */
    private const USUAL = 'exec,passthru,shell_exec,system,proc_open,popen,curl_exec,curl_multi_exec,parse_ini_file,'
        . 'show_source,phpinfo,putenv,dl,symlink,link,readlink,ini_alter,ini_restore,ini_set,set_time_limit,'
        . 'ignore_user_abort,getmypid,getmyuid,posix_kill,posix_getpid,posix_getppid,posix_strerror,'
        . 'posix_get_last_error,pcntl_fork,stream_socket_client,fsockopen,pfsockopen,openlog,syslog,getenv,chdir,'
        . 'memory_get_usage,memory_get_peak_usage,disk_free_space,apache_setenv,gc_collect_cycles,hrtime,'
        . 'http_response_code,session_status,connection_status,error_clear_last,file_get_contents';

    private const EVERYTHING = self::USUAL . ',set_error_handler,restore_error_handler,set_exception_handler,'
        . 'restore_exception_handler,register_shutdown_function,ob_get_level,ob_get_status,ob_end_flush,ob_start,'
        . 'fastcgi_finish_request,error_get_last';

    /**
     * @dataProvider lists
     */
    public function testDisabledFunctionsAreNotMissed(string $disabled): void
    {
        $fpm = self::fpm(['disable_functions' => $disabled, 'display_errors' => '1']);
        self::assertDone(self::script('echo $job["uuid"];', ['memory_limit' => '64M'], $fpm), 'u-1');
        self::assertVerdict('failed', 'boom', self::script('throw new Exception("boom");', [], $fpm));
        self::assertVerdict('failed', '', self::script('exit;', [], $fpm));
        $throws = 'class D { function __destruct() { throw new Exception("late"); } } $d = new D;';
        $reply = self::script($throws, [], $fpm);
        self::assertNotSame('done', $reply->verdict(self::NONCE)['v'] ?? null);
        $reply = self::answer($fpm, ['call' => 'strtolower']);
        self::assertDone($reply);
        self::assertVerdict('unavailable', 'nope', self::answer($fpm, ['call' => 'nope']));
        $reply = self::answer($fpm, ['mode' => 'kill', 'pid' => 4000000]);
        self::assertVerdict('failed', 'posix_kill', $reply);
    }

    public static function lists(): array
    {
        return ['the usual' => [self::USUAL], 'everything the bridge can do without' => [self::EVERYTHING]];
    }

    public function testAnUnexplainedEndIsNeverDone(): void
    {
        $fpm = self::fpm(['disable_functions' => 'error_get_last']);
        $code = 'class Once {} eval("class Once {}");';
        self::assertVerdict('failed', 'nobody can say why', self::script($code, ['exit_ok' => true], $fpm));
    }

    public function testWithoutErrorLogFlushAndSocketsNothingRuns(): void
    {
        foreach (['error_log', 'flush'] as $needed) {
            $fpm = self::fpm(['disable_functions' => $needed]);
            $reply = self::script('echo "ran";', [], $fpm);
            self::assertVerdict('unavailable', 'could not be told', $reply);
            self::assertSame('', $reply->output());
        }
    }

    public function testTheSocketStandsInForErrorLogAndFlush(): void
    {
        foreach (['error_log', 'flush', 'ini_get', 'error_log,stream_socket_client'] as $disabled) {
            $fpm = self::fpm(['disable_functions' => $disabled]);
            $ear = new Ear($fpm->fresh());
            $order = ['script' => $fpm->file('<?php echo "ran";'), 'socket' => $ear->address()];
            $connection = self::ask($fpm, $order);
            self::assertStringStartsWith('HELLO ', $ear->hear());
            self::assertDone($connection->receive(), 'ran');
            $connection->close();
            $ear->close();
        }
    }

    public function testWithoutFlushTheSignIsNotLostBehindFinishRequest(): void
    {
        foreach (['flush' => false, 'flush,ob_implicit_flush' => true] as $disabled => $isReported) {
            $fpm = self::fpm(['disable_functions' => $disabled]);
            foreach (['' => 'done', 'throw new Exception("late");' => 'failed'] as $code => $verdict) {
                $ear = new Ear($fpm->fresh());
                $script = $fpm->file('<?php echo "answer"; fastcgi_finish_request(); ' . $code);
                $connection = self::ask($fpm, ['script' => $script, 'socket' => $ear->address()]);
                self::assertStringStartsWith('HELLO ', $ear->hear());
                self::assertSame('answer', $connection->receive()->output());
                $heard = $isReported ? $ear->hear() : '';
                $connection->send(self::params($fpm, ['mode' => 'check', 'nonce' => 'another'], ''), '');
                $second = $connection->receive();
                $connection->close();
                $ear->close();
                [, , $hash, $payload] = \explode(' ', \trim($heard)) + ['', '', '', ''];
                $content = $isReported ? Reply::open($hash, $payload, self::NONCE) : $second->verdict(self::NONCE);
                self::assertSame($verdict, $content['v'] ?? null, $disabled);
            }
        }
    }

    public function testOpenBasedirOutsideIsUnavailableWithPhpsReason(): void
    {
        $fpm = self::fpm(['open_basedir' => '{dir}', 'display_errors' => '1']);
        $outside = self::fpm()->file('<?php echo "ran";');
        $reply = self::answer($fpm, ['script' => $outside]);
        self::assertVerdict('unavailable', 'open_basedir', $reply);
        self::assertSame('', $reply->output());
        self::assertDone(self::script('echo "ran";', [], $fpm), 'ran');
    }

    public function testItLivesWithoutProcAndWithoutServerVariables(): void
    {
        $fpm = self::fpm(['open_basedir' => '{dir}', 'variables_order' => 'GPC', 'extension' => 'posix']);
        self::assertDone(self::script('echo $job["uuid"];', [], $fpm), 'u-1');
        $reply = self::answer($fpm, ['mode' => 'kill', 'pid' => 4000000]);
        self::assertVerdict('done', 'is gone', $reply);
    }

    public function testAPreloadedErrorHandlerHearsNothingOfTheBridge(): void
    {
        $prepend = self::fpm()->file('<?php set_error_handler(function ($n, $text) { echo "HEARD ", $text; });');
        $fpm = self::fpm(['auto_prepend_file' => $prepend]);
        $reply = self::answer($fpm, ['script' => '/no/such.php']);
        self::assertVerdict('unavailable', '', $reply);
        self::assertSame('', $reply->output());
        self::assertDone(self::script('echo "ran";', ['memory_limit' => '1K'], $fpm), 'ran');
    }
}
