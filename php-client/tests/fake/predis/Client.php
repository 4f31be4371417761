<?php

declare(strict_types=1);

namespace Predis;

use Predis\Connection\ConnectionException;
use Predis\Response\Error;
use Predis\Response\ServerException;

/**
 * Speaks to a real Redis through a unix socket.
 */
class Client implements ClientInterface
{
    /** @var array */
    private $parameters;

    /** @var array */
    private $options;

    /** @var resource|null */
    private $stream;

    /**
     * @param array $parameters path, read_write_timeout
     * @param array $options    prefix, exceptions
     */
    public function __construct($parameters, $options = [])
    {
        $this->parameters = $parameters;
        $this->options = $options + ['prefix' => '', 'exceptions' => true];
    }

    public function __call($method, $arguments)
    {
        $reply = $this->execute(\array_merge([\strtoupper($method)], $this->$method(...$arguments)));
        if ($reply instanceof Error && $this->options['exceptions']) {
            throw new ServerException($reply->getMessage());
        }
        return $reply;
    }

    private function zadd(string $key, array $scores): array
    {
        $words = [$this->options['prefix'] . $key];
        foreach ($scores as $member => $score) {
            \array_push($words, $score, $member);
        }
        return $words;
    }

    private function lpush(string $key, array $values): array
    {
        return \array_merge([$this->options['prefix'] . $key], $values);
    }

    private function evalsha(string $script, int $keys, string ...$words): array
    {
        for ($i = 0; $i < $keys; $i++) {
            $words[$i] = $this->options['prefix'] . $words[$i];
        }
        return \array_merge([$script, $keys], $words);
    }

    private function eval(string $script, int $keys, string ...$words): array
    {
        return $this->evalsha($script, $keys, ...$words);
    }

    private function execute(array $words)
    {
        $request = '*' . \count($words) . "\r\n";
        foreach ($words as $word) {
            $request .= '$' . \strlen((string) $word) . "\r\n" . $word . "\r\n";
        }
        $stream = $this->stream();
        \fwrite($stream, $request);
        $line = \fgets($stream);
        if ($line === false) {
            $this->stream = null;
            throw new ConnectionException('Error while reading line from the server.');
        }
        $rest = \substr($line, 1, -2);
        return $line[0] === '-' ? new Error($rest) : (int) $rest;
    }

    /** @return resource */
    private function stream()
    {
        if ($this->stream === null) {
            $stream = @\stream_socket_client('unix://' . $this->parameters['path'], $code, $why, 1);
            if ($stream === false) {
                throw new ConnectionException($why);
            }
            \stream_set_timeout($stream, 0, (int) ($this->parameters['read_write_timeout'] * 1e6));
            $this->stream = $stream;
        }
        return $this->stream;
    }
}
