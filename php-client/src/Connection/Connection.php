<?php

declare(strict_types=1);

namespace Sidecar\Connection;

/**
 * What the producer needs of a Redis client: three ways to write, each of them all or nothing for its one key.
 *
 * Keys come without the client's prefix; the client puts it in front, once. An ErrorReply means that nothing was
 * written. After a ConnectionFailed nobody knows, unless it says that nothing was sent.
 */
interface Connection
{
    /** Names the server, for messages and for the circuit. */
    public function name(): string;

    /** The bytes that stand in Redis for this text, where the client packs what it writes. */
    public function member(string $text): string;

    /**
     * Adds texts to a sorted set, each at Redis' own time plus its delay, in one round trip.
     *
     * @param int                       $unit ms in one unit of the scores: 1 or 1000
     * @param array<array{int, string}> $rows delay in ms, text
     */
    public function addIn(string $key, int $unit, array $rows): void;

    /**
     * Adds texts to a sorted set.
     *
     * @param array<array{string, string}> $rows score, text
     */
    public function addAt(string $key, array $rows): void;

    /**
     * Pushes texts to the left end of a list, the first one first.
     *
     * @param string[] $texts
     */
    public function push(string $key, array $texts): void;
}
