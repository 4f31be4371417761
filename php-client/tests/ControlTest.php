<?php

declare(strict_types=1);

namespace Sidecar\Tests;

/**
 * The modes that run no job: check and kill.
 */
final class ControlTest extends BridgeTestCase
{
    public function testCheckLooksAndRunsNothing(): void
    {
        $fpm = self::fpm();
        $script = $fpm->file('<?php echo "ran";');
        foreach ([[], ['script' => $script], ['script' => $script, 'bootstrap' => $script]] as $files) {
            $reply = self::answer($fpm, ['mode' => 'check'] + $files, '');
            self::assertDone($reply);
            self::assertSame('', $reply->stderr);
        }
        $reply = self::answer($fpm, ['mode' => 'check', 'script' => $script, 'bootstrap' => '/no/such.php'], '');
        self::assertVerdict('unavailable', 'bootstrap /no/such.php', $reply);
    }

    public function testKillEndsAHangingChildOfThePool(): void
    {
        $fpm = self::fpm(['extension' => 'posix'], ['pm.max_children' => '2']);
        $hanging = self::ask($fpm, ['script' => $fpm->file('<?php for (;;) { sleep(100); }')]);
        $hello = $hanging->receiveError('php=')->stderr;
        self::assertSame(1, \preg_match('/pid=(\d+)/', $hello, $found));
        $reply = self::answer($fpm, ['mode' => 'kill', 'pid' => (int) $found[1]], '');
        self::assertDone($reply);
        self::assertFalse($hanging->receive()->ended);
        $hanging->close();
        // Gone, or not reaped yet: a second order is no failure.
        self::assertDone(self::answer($fpm, ['mode' => 'kill', 'pid' => (int) $found[1]], ''));
    }

    public function testKillSparesEverybodyElse(): void
    {
        $fpm = self::fpm(['extension' => 'posix'], ['pm.max_children' => '2']);
        $own = \proc_open(['sleep', '600'], [], $pipes);
        $pid = \proc_get_status($own)['pid'];
        $cases = [$pid => 'no child of this FPM', \getmypid() => 'no child', 1 => 'not to be killed', 0 => 'not to be'];
        foreach ($cases as $id => $error) {
            self::assertVerdict('failed', $error, self::answer($fpm, ['mode' => 'kill', 'pid' => $id], ''));
        }
        self::assertTrue(\proc_get_status($own)['running']);
        \proc_terminate($own);
        \proc_close($own);
    }

    public function testKillNeedsExtPosix(): void
    {
        $reply = self::answer(self::fpm(), ['mode' => 'kill', 'pid' => 4000000], '');
        self::assertVerdict('failed', 'posix_kill', $reply);
    }
}
