<?php

declare(strict_types=1);

namespace Sidecar\Connection;

/**
 * Turns what people have at hand into a Connection.
 *
 * @internal
 */
final class Connections
{
    /** @var bool */
    private $mayPack;

    /** @var float */
    private $connectTimeout;

    /** @var float */
    private $readTimeout;

    public function __construct(bool $mayPack, float $connectTimeout, float $readTimeout)
    {
        $this->mayPack = $mayPack;
        $this->connectTimeout = $connectTimeout;
        $this->readTimeout = $readTimeout;
    }

    /** @param mixed $client a URL, a client, a Connection, or a callable that returns one of the latter two */
    public function of($client): Connection
    {
        if (\is_string($client)) {
            return $this->byUrl(new Url($client));
        }
        if (\is_callable($client) && !self::isClient($client)) {
            return new OnDemandConnection(function () use ($client): Connection {
                return $this->over($client());
            }, 'redis');
        }
        return $this->over($client);
    }

    private function byUrl(Url $url): Connection
    {
        if (!\class_exists(\Redis::class)) {
            throw UnsuitableConnection::missing('ext-redis, which a URL needs,');
        }
        return new OnDemandConnection(function () use ($url): Connection {
            $redis = $url->connect($this->connectTimeout, $this->readTimeout);
            return new PhpRedisConnection($redis, false, $url->server());
        }, $url->server());
    }

    /** @param mixed $client */
    private function over($client): Connection
    {
        if ($client instanceof Connection) {
            return $client;
        }
        if ($client instanceof \Redis || $client instanceof \RedisCluster) {
            return new PhpRedisConnection($client, $this->mayPack, self::nameOf($client));
        }
        if ($client instanceof \Predis\ClientInterface) {
            return new PredisConnection($client);
        }
        throw UnsuitableConnection::unknown($client);
    }

    /** @param mixed $client */
    private static function isClient($client): bool
    {
        return $client instanceof \Predis\ClientInterface || $client instanceof Connection;
    }

    /** @param \Redis|\RedisCluster $client */
    private static function nameOf($client): string
    {
        if (!$client instanceof \Redis) {
            return 'cluster';
        }
        try {
            return $client->getHost() . ':' . $client->getPort();
        } catch (\Exception $unconnected) {
            return 'redis';
        }
    }
}
