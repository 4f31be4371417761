<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use Sidecar\Tests\Support\Resident;

/**
 * mode worker: one request serves one job after another.
 */
final class WorkerTest extends WorkerTestCase
{
    public function testItSaysHelloAsOneWhoKnowsTheToken(): void
    {
        $hello = $this->worker(['call' => 'strlen'])->hello();
        self::assertSame(1, $hello['v']);
        self::assertSame(\substr(\hash('sha256', 'worker:' . self::NONCE), 0, 16), $hello['id']);
        self::assertSame(\hash('sha256', self::NONCE . ':hello'), $hello['auth']);
        self::assertSame(\PHP_MAJOR_VERSION, (int) $hello['php']);
        self::assertGreaterThan(1, $hello['pid']);
        self::assertGreaterThan(100000, $hello['mem']);
    }

    public function testItServesOneJobAfterAnotherWithOneBootstrap(): void
    {
        $worker = $this->callWorker('h', '$n = 0; function h(array $job) { echo ++$GLOBALS["n"], $job["x"]; }');
        foreach ([1, 2, 3] as $id) {
            self::assertJobDone($worker->run($id, '{"x":"-' . $id . '"}'), $id . '-' . $id);
        }
        $worker->send('E');
        self::assertSame(3, $worker->bye('end')['jobs']);
    }

    public function testFramesMayArriveInPiecesOrTogether(): void
    {
        $worker = $this->callWorker('h', 'function h(string $text) { echo md5($text); }');
        $texts = ['{}', '{"x":"' . \str_repeat('y', 9000) . '"}', '{"x":"' . \str_repeat('z', 300000) . '"}'];
        $frames = '';
        foreach ($texts as $i => $text) {
            $frames .= Resident::job($i + 1, $text);
        }
        foreach ([1, 7, 5000, 1 << 20] as $size) {
            foreach (\str_split(\substr($frames, 0, 40), $size) as $piece) {
                $worker->write($piece);
            }
            $worker->write(\substr($frames, 40));
            foreach ($texts as $i => $text) {
                self::assertJobDone($worker->verdict($i + 1), \md5($text));
            }
        }
    }

    public function testABufferThatTheBootstrapPutInPlaceOfOursCostsNoOutput(): void
    {
        $worker = $this->callWorker('h', 'ob_get_clean(); ob_start(); function h(array $job) { echo $job["x"]; }');
        foreach ([1, 2] as $id) {
            self::assertJobDone($worker->run($id, '{"x":"job ' . $id . '"}'), 'job ' . $id);
        }
    }

    public function testAPingIsAnsweredInTurn(): void
    {
        $worker = $this->callWorker('h', 'function h() {}');
        $worker->write(Resident::job(1, '{}') . Resident::frame('C', "\0\1\2\3"));
        self::assertJobDone($worker->verdict(1));
        self::assertSame(['P', "\0\1\2\3"], $worker->receive());
    }
}
