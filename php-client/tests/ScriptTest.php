<?php

declare(strict_types=1);

namespace Sidecar\Tests;

/**
 * script = "...": as if FPM had run the file itself, with $job.
 */
final class ScriptTest extends BridgeTestCase
{
    public function testItSeesTheJobAndTheTextAsOftenAsItLikes(): void
    {
        $code = 'echo $job["address"]["city"], "|", file_get_contents("php://input"), "|",'
            . 'strlen(file_get_contents("php://input")), "|", $_SERVER["CONTENT_LENGTH"];';
        $length = \strlen(self::JOB);
        self::assertDone(self::script($code), 'Oslo|' . self::JOB . '|' . $length . '|' . $length);
    }

    public function testAnUndecodableTextStillReachesIt(): void
    {
        foreach (["{\"name\":\"caf\xE9\"}", '{"a":' . \str_repeat('[', 600) . \str_repeat(']', 600) . '}'] as $text) {
            $reply = self::script('var_dump($job); echo md5_file("php://input");', [], null, $text);
            self::assertDone($reply, "NULL\n" . \md5($text));
        }
    }

    /**
     * @dataProvider sizes
     */
    public function testTextsOfAnySizeArriveWhole(int $size): void
    {
        $text = '{"x":"' . \str_repeat('y', $size - 8) . '"}';
        $reply = self::script('echo strlen($job["x"]), md5_file("php://input");', [], null, $text);
        self::assertDone($reply, ($size - 8) . \md5($text));
    }

    public static function sizes(): array
    {
        return [[65535], [65536], [65537], [131070], [7 << 20]];
    }

    public function testItRunsInTheGlobalScopeAndFindsNothingOfOurs(): void
    {
        $code = 'echo implode(",", array_diff(array_keys($GLOBALS), ["GLOBALS", "_GET", "_POST", "_COOKIE", "_FILES",'
            . '"_SERVER", "_ENV", "_REQUEST", "argv", "argc"])), "|"; $n = 5; function n() { global $n; return $n; }'
            . 'echo n(), "|", implode(",", get_defined_functions()["user"]), "|",'
            . 'implode(",", array_keys(get_defined_constants(true)["user"] ?? []));';
        self::assertDone(self::script($code), 'job|5|n|');
    }

    public function testServerAndDirectoryAreThoseOfTheScript(): void
    {
        $fpm = self::fpm();
        $fpm->file('<?php echo "beside";', 'jobs/beside.php');
        $fpm->file('<?php echo "below";', 'jobs/lib/below.php');
        $code = '<?php foreach (["SCRIPT_FILENAME", "SCRIPT_NAME", "PHP_SELF", "DOCUMENT_ROOT"] as $name) {'
            . ' echo $_SERVER[$name], "\n"; } echo getcwd(), "\n", __FILE__, "\n"; include "beside.php";'
            . ' include "./lib/below.php";';
        $script = $fpm->file($code, 'jobs/order.php');
        $dir = \dirname($script);
        $want = [$script, '/order.php', '/order.php', $dir, $dir, $script, 'besidebelow'];
        self::assertDone(self::answer($fpm, ['script' => $script]), \implode("\n", $want));
    }

    public function testItSeesTheParametersOfTheSidecarAndItsDeadline(): void
    {
        $code = 'echo $_SERVER["SIDECAR_TOPIC"], $_SERVER["SIDECAR_UUID"], $_SERVER["SIDECAR_TRIES"];'
            . 'echo $_SERVER["SIDECAR_DEADLINE_MS"] - microtime(true) * 1000 > 50000 ? "ahead" : "wrong";'
            . 'echo gettype($_SERVER["SIDECAR_DEADLINE_MS"]);';
        self::assertDone(self::script($code), 'ordersu-10aheadstring');
    }

    public function testTheNonceIsNotInTheGlobals(): void
    {
        $code = 'echo strpos(serialize([$_SERVER, $_ENV, $_REQUEST, $argv ?? null]) . print_r($GLOBALS, true), "'
            . self::NONCE . '") === false ? "hidden" : "seen";';
        self::assertDone(self::script($code, [], self::fpm(['variables_order' => 'EGPCS'])), 'hidden');
    }

    public function testWhatGetenvShowsSignsNothing(): void
    {
        $fpm = self::fpm(['variables_order' => 'EGPCS']);
        $code = 'echo strpos(serialize([$_SERVER, $_ENV]), "secret=") === false ? "hidden" : "seen";'
            . ' echo json_decode(getenv("SIDECAR_BRIDGE"), true)["nonce"] === "' . self::NONCE . '" ? "known" : "";';
        $reply = self::script($code, ['secretly' => true], $fpm);
        self::assertNull($reply->verdict(self::NONCE), 'the nonce alone signs');
        self::assertSame(1, \preg_match('/ pid=\d+ secret=([0-9a-f]{32}) php=\d/', $reply->stderr, $found), $reply->stderr);
        self::assertSame('done', $reply->verdict(self::NONCE . $found[1])['v'] ?? '');
        self::assertSame('hiddenknown', $reply->output());
        $again = self::script($code, ['secretly' => true], $fpm);
        self::assertNull($again->verdict(self::NONCE . $found[1]), 'the secret of another run signs');
    }

    public function testWhatFpmAddsToCommandLineCodeIsTakenBack(): void
    {
        $fpm = self::fpm(['max_execution_time' => '1', 'html_errors' => '1', 'memory_limit' => '64M']);
        $code = 'echo ini_get("max_execution_time"), ini_get("html_errors"), ini_get("memory_limit");';
        self::assertDone(self::script($code, ['memory_limit' => '200M'], $fpm), '00200M');
        self::assertDone(self::script($code, [], $fpm), '0064M');
    }

    public function testAMemoryLimitThatCannotBeSetIsNoNoise(): void
    {
        $fpm = self::fpm(['display_errors' => '1']);
        self::assertDone(self::script('echo "ran";', ['memory_limit' => '1K'], $fpm), 'ran');
    }

    public function testADeploymentBySymlinkTakesEffectAtTheNextStart(): void
    {
        $fpm = self::fpm([
            'zend_extension' => 'opcache',
            'opcache.enable' => '1',
            'opcache.validate_timestamps' => '0',
            'opcache.file_update_protection' => '0',
            'realpath_cache_ttl' => '600',
        ]);
        $current = $fpm->path('current');
        foreach (['r1', 'r2'] as $release) {
            $fpm->file('<?php return "' . $release . '";', $release . '/lib.php');
            $fpm->file('<?php echo basename(__DIR__), include "lib.php", basename(getcwd());', $release . '/job.php');
        }
        foreach (['r1', 'r2', 'r1'] as $release) {
            \symlink($fpm->path($release), $current . '.new');
            \rename($current . '.new', $current);
            foreach ([1, 2] as $ignored) {
                $reply = self::answer($fpm, ['script' => $current . '/job.php']);
                self::assertDone($reply, \str_repeat($release, 3));
            }
        }
    }

    public function testACallableThatItReturnsIsCalled(): void
    {
        $code = 'return function ($job, $text) { echo $job["order_id"], $text; return false; };';
        self::assertDone(self::script($code), '42' . self::JOB);
        $reply = self::script($code, ['fail_on_false' => true]);
        self::assertVerdict('failed', 'the handler returned false', $reply);
        self::assertDone(self::script('return "phpinfo";'));
    }

    public function testTheBootstrapRunsBeforeInTheGlobalScopeAndItsResultIsIgnored(): void
    {
        $bootstrap = self::fpm()->file('<?php $db = "open"; echo "b|", isset($job) ? "job" : "-", "|"; return false;');
        $reply = self::script('echo $db;', ['bootstrap' => $bootstrap, 'fail_on_false' => true]);
        self::assertDone($reply, 'b|-|open');
    }

    public function testABootstrapThatThrowsOrDoesNotParseIsAFailureWithItsPlace(): void
    {
        foreach (["throw new Exception('no db');" => 'no db in ', 'not php' => 'syntax error'] as $code => $error) {
            $bootstrap = self::fpm()->file("<?php\n" . $code);
            $reply = self::script('echo "ran";', ['bootstrap' => $bootstrap]);
            self::assertVerdict('failed', 'the bootstrap threw: ' . $error, $reply);
            self::assertVerdict('failed', $bootstrap . ':2', $reply);
            self::assertSame('', $reply->output());
        }
    }

    public function testAScriptThatDoesNotParseIsAFailureWithItsPlace(): void
    {
        $script = self::fpm()->file("<?php\n\nnot php");
        self::assertVerdict('failed', $script . ':3', self::answer(self::fpm(), ['script' => $script]));
    }
}
