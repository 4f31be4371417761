<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use PHPUnit\Framework\TestCase;
use Sidecar\Connection\UnsuitableConnection;
use Sidecar\InvalidArgument;
use Sidecar\Producer;
use Sidecar\SidecarException;

final class OptionsTest extends TestCase
{
    public function testAllFaultsAreNamedAtOnce(): void
    {
        try {
            Producer::to('redis://localhost', [
                'topics' => ['a' => ['score_unit' => 'us'], 'b' => 's', 'c' => ['unit' => 's']],
                'lists' => ['l' => ['shards' => '8'], 'm' => ['shards' => -1]],
                'connect_timeout' => 0,
                'read_timeout' => '1s',
                'circuit' => ['failures' => 0, 'open_for' => \NAN, 'opens' => 1, 'name' => 5],
                'serialized' => true,
                'spool' => new \stdClass(),
                'on_spooled' => 'no_such_function',
                'timeout' => 5,
            ]);
            self::fail('nothing was thrown');
        } catch (InvalidArgument $refused) {
            self::assertSame('options: ' . \implode('; ', [
                'timeout: no such option',
                'topics.a.score_unit: want ms or s',
                "topics.b: want an array ['score_unit' => …]",
                'topics.c.unit: no such option',
                'lists.l.shards: want a whole number from 0',
                'lists.m.shards: want a whole number from 0',
                'connect_timeout: want seconds above 0',
                'read_timeout: want seconds above 0',
                'serialized: want refuse or allow',
                'spool: want a Sidecar\Spool\Spool',
                'on_spooled: want a callable',
                'circuit.opens: no such option',
                'circuit.failures: want a whole number above 0',
                'circuit.open_for: want seconds above 0',
                'circuit.name: want a name',
            ]), $refused->getMessage());
        }
    }

    /**
     * @dataProvider noConnections
     */
    public function testWhatIsNoConnectionIsRefused($redis, string $class, string $why): void
    {
        try {
            Producer::to($redis);
            self::fail('nothing was thrown');
        } catch (SidecarException $refused) {
            self::assertInstanceOf($class, $refused);
            self::assertStringContainsString($why, $refused->getMessage());
            self::assertStringNotContainsString('secret', $refused->getMessage());
        }
    }

    public static function noConnections(): array
    {
        return [
            'another scheme' => ['http://:secret@localhost', InvalidArgument::class, 'redis://host:port/db'],
            'no host' => ['redis://', InvalidArgument::class, 'redis://host:port/db'],
            'no path' => ['unix://', InvalidArgument::class, 'unix:///path'],
            'a name' => ['localhost', InvalidArgument::class, 'redis://host:port/db'],
            'another object' => [new \stdClass(), UnsuitableConnection::class, 'not stdClass'],
            'nothing' => [null, UnsuitableConnection::class, 'not NULL'],
        ];
    }

    public function testACallableThatReturnsNoConnectionIsNotSpooledOver(): void
    {
        $this->expectException(UnsuitableConnection::class);
        $this->expectExceptionMessage('not integer');
        Producer::to(static function (): int {
            return 5;
        }, ['spool' => new Support\ListSpool()])->push('list', []);
    }
}
