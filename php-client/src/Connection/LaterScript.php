<?php

declare(strict_types=1);

namespace Sidecar\Connection;

/**
 * Due times by the one clock that counts, Redis' own, without a round trip to ask for it.
 *
 * @internal
 */
final class LaterScript
{
    public const LUA = <<<'LUA'
-- later: new texts -> pool, each at TIME + delay.
--
-- KEYS[1]  pool   ZSET  texts; score = due time in the topic's unit
-- ARGV[1]  milliseconds in one unit of the pool's scores: 1 or 1000
-- ARGV[2]  delay, ms; text; delay; text; ...
--
-- Returns the number of texts. Those of one call lie 1/2048 ms apart, so that equal delays keep the order.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
for i = 2, #ARGV, 2 do
  redis.call('ZADD', KEYS[1], (now + ARGV[i] + (i - 2) / 4096) / ARGV[1], ARGV[i + 1])
end
return (#ARGV - 1) / 2
LUA;

    public static function sha(): string
    {
        return \sha1(self::LUA);
    }

    /**
     * @param array<array{int, string}> $rows delay in ms, member
     *
     * @return string[] ARGV
     */
    public static function arguments(int $unit, array $rows): array
    {
        $arguments = [(string) $unit];
        foreach ($rows as [$delayMs, $member]) {
            $arguments[] = (string) $delayMs;
            $arguments[] = $member;
        }
        return $arguments;
    }
}
