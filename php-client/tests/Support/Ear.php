<?php

declare(strict_types=1);

namespace Sidecar\Tests\Support;

use RuntimeException;

/**
 * The sidecar's end of the socket that takes HELLO and REPORT lines.
 */
final class Ear
{
    private const SECONDS = 60;

    /** @var string */
    private $address;

    /** @var resource */
    private $server;

    public function __construct(string $path)
    {
        $this->address = 'unix://' . $path;
        $server = \stream_socket_server($this->address, $code, $why);
        if ($server === false) {
            throw new RuntimeException($this->address . ': ' . $why);
        }
        \chmod($path, 0666);
        $this->server = $server;
    }

    public function address(): string
    {
        return $this->address;
    }

    /** Takes one line and gives this answer. */
    public function hear(string $answer = "OK\n"): string
    {
        $stream = \stream_socket_accept($this->server, self::SECONDS);
        if ($stream === false) {
            throw new RuntimeException('nobody called');
        }
        $line = (string) \fgets($stream);
        \fwrite($stream, $answer);
        \fclose($stream);
        return $line;
    }

    public function close(): void
    {
        \fclose($this->server);
    }
}
