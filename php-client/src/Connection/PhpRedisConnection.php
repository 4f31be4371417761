<?php

declare(strict_types=1);

namespace Sidecar\Connection;

/**
 * Writes through a \Redis or \RedisCluster that is there already.
 *
 * phpredis puts OPT_PREFIX in front of the keys of every command, scripts included. OPT_SERIALIZER and OPT_COMPRESSION
 * it applies to the values of commands, but not to the arguments of scripts: those are packed here.
 */
final class PhpRedisConnection implements Connection
{
    /** @var \Redis|\RedisCluster */
    private $redis;

    /** @var bool */
    private $mayPack;

    /** @var string */
    private $name;

    /** @var bool Whether phpredis is about to connect anew. */
    private $failed = false;

    /**
     * @param \Redis|\RedisCluster $redis
     * @param bool                 $mayPack whether a serializer and a compression are all right
     */
    public function __construct($redis, bool $mayPack = false, string $name = 'redis')
    {
        $this->redis = $redis;
        $this->mayPack = $mayPack;
        $this->name = $name;
    }

    public function name(): string
    {
        return $this->name;
    }

    public function member(string $text): string
    {
        if (!$this->packs()) {
            return $text;
        }
        if (\method_exists($this->redis, '_pack')) {
            return $this->redis->_pack($text);
        }
        if ($this->option('OPT_COMPRESSION') !== 0) {
            throw UnsuitableConnection::cannotPack();
        }
        return $this->redis->_serialize($text);
    }

    public function addIn(string $key, int $unit, array $rows): void
    {
        $this->guard();
        foreach ($rows as $i => $row) {
            $rows[$i][1] = $this->member($row[1]);
        }
        $arguments = \array_merge([$key], LaterScript::arguments($unit, $rows));
        $reply = $this->call('EVALSHA', [LaterScript::sha(), $arguments, 1]);
        if (\is_string($reply) && ErrorReply::asksForScript($reply)) {
            $reply = $this->call('EVAL', [LaterScript::LUA, $arguments, 1]);
        }
        self::mustBeCount('EVALSHA', $reply);
    }

    public function addAt(string $key, array $rows): void
    {
        $this->guard();
        $arguments = [$key];
        foreach ($rows as [$score, $text]) {
            $arguments[] = (float) $score;
            $arguments[] = $text;
        }
        self::mustBeCount('ZADD', $this->call('ZADD', $arguments));
    }

    public function push(string $key, array $texts): void
    {
        $this->guard();
        self::mustBeCount('LPUSH', $this->call('LPUSH', \array_merge([$key], \array_values($texts))));
    }

    /** Refuses a connection that would write something else than asked for, or at another time, or elsewhere. */
    private function guard(): void
    {
        try {
            $this->reopen();
            $mode = $this->redis->getMode();
            $packs = $this->packs();
        } catch (\Exception $unconnected) {
            throw ConnectionFailed::to($this->name, $unconnected->getMessage(), $unconnected);
        }
        if ($mode !== \Redis::ATOMIC) {
            throw UnsuitableConnection::inTransaction();
        }
        if ($packs && !$this->mayPack) {
            throw UnsuitableConnection::packing($this->option('OPT_SERIALIZER') !== 0 ? 'serializer' : 'compression');
        }
    }

    /**
     * phpredis connects anew by itself and logs in again, but it forgets the database, and what it reads may still be the
     * answer to something else (both seen in 5.3.7).
     */
    private function reopen(): void
    {
        if (!$this->failed) {
            return;
        }
        if ($this->redis instanceof \Redis) {
            $word = \bin2hex(\random_bytes(8));
            if ($this->redis->rawCommand('ECHO', $word) !== $word) {
                $this->redis->close();
                throw new \RedisException('out of step');
            }
            $db = $this->redis->getDbNum();
            if ($db !== 0 && !$this->redis->select($db)) {
                throw new \RedisException('select: ' . $this->redis->getLastError());
            }
        }
        $this->failed = false;
    }

    /**
     * phpredis hangs up when it has waited in vain for a number. For a script's answer it does not, and takes the late one
     * for that to the next command. To close what is closed would connect, and wait once more.
     */
    private function hangUp(\Exception $failure): void
    {
        $this->failed = true;
        $open = \preg_match('/^(socket|protocol) error/', $failure->getMessage()) === 1;
        if (!$open && $this->redis instanceof \Redis) {
            return;
        }
        try {
            $this->redis->close();
        } catch (\Exception $gone) {
            return;
        }
    }

    private function packs(): bool
    {
        return $this->option('OPT_SERIALIZER') !== 0 || $this->option('OPT_COMPRESSION') !== 0;
    }

    private function option(string $name): int
    {
        return \defined('Redis::' . $name) ? (int) $this->redis->getOption(\constant('Redis::' . $name)) : 0;
    }

    /** @return mixed the reply; an error reply as its text */
    private function call(string $command, array $arguments)
    {
        try {
            $this->redis->clearLastError();
            $reply = @$this->redis->$command(...$arguments); // old ones warn besides
        } catch (\Exception $thrown) {
            if (ErrorReply::is($thrown->getMessage())) {
                return \ltrim($thrown->getMessage(), '-');
            }
            $this->hangUp($thrown);
            throw ConnectionFailed::during($command, $thrown);
        }
        return $reply === false ? (string) $this->redis->getLastError() : $reply;
    }

    /** @param mixed $reply */
    private static function mustBeCount(string $command, $reply): void
    {
        if (\is_int($reply)) {
            return;
        }
        if (\is_string($reply) && $reply !== '') {
            throw ErrorReply::to($command, $reply);
        }
        throw ConnectionFailed::during($command, new \UnexpectedValueException('no answer'));
    }
}
