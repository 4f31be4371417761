<?php

declare(strict_types=1);

namespace Sidecar\Tests\Circuit;

use PHPUnit\Framework\TestCase;
use Sidecar\Circuit\CircuitBreaker;
use Sidecar\Circuit\ProcessState;

final class CircuitBreakerTest extends TestCase
{
    /** @var int */
    private $now = 1000000;

    public function testItOpensAfterThatManyFailuresInARow(): void
    {
        $circuit = $this->circuit(new ProcessState());
        foreach ([false, false, true, false, false] as $succeeds) {
            self::assertTrue($circuit->allows());
            $succeeds ? $circuit->succeeded() : $circuit->failed();
        }
        self::assertTrue($circuit->allows(), 'never three in a row');
        $circuit->failed();
        self::assertFalse($circuit->allows());
    }

    public function testAfterItsTimeOneMayTryAndOnlyOne(): void
    {
        $state = new ProcessState();
        $circuit = $this->opened($state);
        $this->now += 4999;
        self::assertFalse($circuit->allows());
        $this->now++;
        self::assertTrue($circuit->allows());
        self::assertFalse($circuit->allows());
        self::assertFalse($this->circuit($state)->allows(), 'nor another process');
    }

    public function testWhereTheOneSucceedsItIsClosedForAll(): void
    {
        $circuit = $this->opened(new ProcessState());
        $this->now += 5000;
        $circuit->allows();
        $circuit->succeeded();
        self::assertTrue($circuit->allows());
        $circuit->failed();
        $circuit->failed();
        self::assertTrue($circuit->allows(), 'failures count from the beginning');
    }

    public function testWhereTheOneFailsItStaysOpenForAnotherTime(): void
    {
        $circuit = $this->opened(new ProcessState());
        $this->now += 5000;
        $circuit->allows();
        $this->now += 500;
        $circuit->failed();
        $this->now += 4999;
        self::assertFalse($circuit->allows());
        $this->now++;
        self::assertTrue($circuit->allows());
    }

    public function testWhereTheOneNeverComesBackAnotherMayTryLater(): void
    {
        $circuit = $this->opened(new ProcessState());
        foreach ([1, 2, 3] as $_) {
            $this->now += 5000;
            self::assertTrue($circuit->allows());
            self::assertFalse($circuit->allows());
        }
    }

    public function testAClockThatIsSetBackDoesNotHoldItOpen(): void
    {
        $circuit = $this->opened(new ProcessState());
        $this->now -= 3600000;
        self::assertTrue($circuit->allows());
    }

    public function testItsOwnClockIsThatOfTheHost(): void
    {
        $circuit = new CircuitBreaker(new ProcessState(), 1, 3600000);
        $circuit->failed();
        self::assertFalse($circuit->allows());
    }

    private function opened(ProcessState $state): CircuitBreaker
    {
        $circuit = $this->circuit($state);
        foreach ([1, 2, 3] as $_) {
            self::assertTrue($circuit->allows());
            $circuit->failed();
        }
        self::assertFalse($circuit->allows());
        return $circuit;
    }

    private function circuit(ProcessState $state): CircuitBreaker
    {
        return new CircuitBreaker($state, 3, 5000, function (): int {
            return $this->now;
        });
    }
}
