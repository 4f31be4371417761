<?php

declare(strict_types=1);

namespace Sidecar\Connection;

use Sidecar\SidecarException;

/**
 * This connection cannot be written through as it is set up. Nothing was written.
 */
final class UnsuitableConnection extends \LogicException implements SidecarException
{
    /** @param string $what "serializer" or "compression" */
    public static function packing(string $what): self
    {
        return new self(\sprintf(
            'the connection has a %s, so others could not read the jobs: hand in a connection without one, or allow it '
                . "with the option ['serialized' => 'allow'] and set encoding = \"auto\" for the sidecar's topic",
            $what
        ));
    }

    public static function cannotPack(): self
    {
        return new self('the connection has a compression, and this phpredis has no _pack() to ask for its bytes');
    }

    public static function inTransaction(): self
    {
        return new self('the connection is inside multi() or a pipeline: hand in one of its own for the producer');
    }

    /** @param mixed $client */
    public static function unknown($client): self
    {
        return new self(\sprintf(
            'want a URL, a Redis, a RedisCluster, a Predis\ClientInterface, a Connection, or a callable that returns '
                . 'one of these, not %s',
            \is_object($client) ? \get_class($client) : \gettype($client)
        ));
    }

    public static function missing(string $extension): self
    {
        return new self(\sprintf('%s is not installed', $extension));
    }
}
