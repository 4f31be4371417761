<?php

declare(strict_types=1);

namespace Sidecar\Connection;

use Sidecar\InvalidArgument;

/**
 * Where Redis is: redis://[user:password@]host[:port][/db], rediss:// for TLS, unix:///path; ?db=0&prefix=shop:
 *
 * @internal
 */
final class Url
{
    private const PORT = 6379;

    /** @var string */
    private $host;

    /** @var int */
    private $port = 0;

    /** @var string[] user and password, the password alone, or nothing */
    private $login;

    /** @var int */
    private $db;

    /** @var string */
    private $prefix;

    public function __construct(string $url)
    {
        // parse_url() knows no host between unix:// and the path
        $parts = \parse_url((string) \preg_replace('~^unix:///~', 'unix://socket/', $url));
        $scheme = $parts['scheme'] ?? '';
        if (!\in_array($scheme, ['redis', 'rediss', 'tls', 'unix'], true) || ($parts['host'] ?? '') === '') {
            // not repeated here, for its password
            throw InvalidArgument::because('a URL is redis://host:port/db, rediss://… or unix:///path');
        }
        \parse_str($parts['query'] ?? '', $query);
        $path = $parts['path'] ?? '';
        if ($scheme === 'unix') {
            $this->host = \rawurldecode($path);
        } else {
            $this->host = ($scheme === 'redis' ? '' : 'tls://') . \trim($parts['host'], '[]');
            $this->port = $parts['port'] ?? self::PORT;
        }
        $this->login = \array_values(\array_filter(
            [\rawurldecode($parts['user'] ?? ''), \rawurldecode($parts['pass'] ?? '')],
            'strlen'
        ));
        $this->db = (int) ($query['db'] ?? ($scheme === 'unix' ? 0 : \trim($path, '/')));
        $this->prefix = (string) ($query['prefix'] ?? '');
    }

    /** Names the server, without its secrets. */
    public function server(): string
    {
        return $this->port === 0 ? $this->host : $this->host . ':' . $this->port;
    }

    /** Connects, or throws what phpredis throws. */
    public function connect(float $connectTimeout, float $readTimeout): \Redis
    {
        $redis = new \Redis();
        if (@$redis->connect($this->host, $this->port, $connectTimeout, null, 0, $readTimeout) === false) {
            throw new \RedisException('no connection');
        }
        if (\defined('Redis::OPT_MAX_RETRIES')) {
            $redis->setOption(\Redis::OPT_MAX_RETRIES, 1); // ten, by default, each with its own timeout
        }
        if ($this->login !== [] && !$redis->auth(\count($this->login) === 1 ? $this->login[0] : $this->login)) {
            throw new \RedisException((string) $redis->getLastError());
        }
        if ($this->db !== 0 && !$redis->select($this->db)) {
            throw new \RedisException((string) $redis->getLastError());
        }
        $redis->setOption(\Redis::OPT_PREFIX, $this->prefix);
        return $redis;
    }
}
