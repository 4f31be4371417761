<?php

declare(strict_types=1);

namespace Sidecar\Connection;

/**
 * Writes through a Predis\ClientInterface that is there already (Predis 1 to 3).
 *
 * Predis puts its option "prefix" in front of the keys of every command, scripts included, and packs nothing.
 */
final class PredisConnection implements Connection
{
    /** @var \Predis\ClientInterface */
    private $client;

    /** @var string */
    private $name;

    /** @param \Predis\ClientInterface $client */
    public function __construct($client, string $name = 'redis')
    {
        $this->client = $client;
        $this->name = $name;
    }

    public function name(): string
    {
        return $this->name;
    }

    public function member(string $text): string
    {
        return $text;
    }

    public function addIn(string $key, int $unit, array $rows): void
    {
        $arguments = LaterScript::arguments($unit, $rows);
        $error = $this->call('evalsha', \array_merge([LaterScript::sha(), 1, $key], $arguments));
        if (ErrorReply::asksForScript($error)) {
            $error = $this->call('eval', \array_merge([LaterScript::LUA, 1, $key], $arguments));
        }
        self::mustBeNone('EVALSHA', $error);
    }

    public function addAt(string $key, array $rows): void
    {
        self::mustBeNone('ZADD', $this->call('zadd', [$key, \array_column($rows, 0, 1)]));
    }

    public function push(string $key, array $texts): void
    {
        self::mustBeNone('LPUSH', $this->call('lpush', [$key, \array_values($texts)]));
    }

    /** Returns the error that Redis answered with, '' when it did not: by the option "exceptions" it is thrown or returned. */
    private function call(string $command, array $arguments): string
    {
        try {
            $reply = $this->client->$command(...$arguments);
        } catch (\Predis\Response\ServerException $refused) {
            return $refused->getMessage();
        } catch (\Exception $thrown) {
            throw ConnectionFailed::during(\strtoupper($command), $thrown);
        }
        return $reply instanceof \Predis\Response\ErrorInterface ? $reply->getMessage() : '';
    }

    private static function mustBeNone(string $command, string $error): void
    {
        if ($error !== '') {
            throw ErrorReply::to($command, $error);
        }
    }
}
