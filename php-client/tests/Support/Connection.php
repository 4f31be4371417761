<?php

declare(strict_types=1);

namespace Sidecar\Tests\Support;

use RuntimeException;

/**
 * The client's side of FastCGI, as much of it as one request at a time needs.
 */
final class Connection
{
    private const BEGIN = 1;
    private const END = 3;
    private const PARAMS = 4;
    private const STDIN = 5;
    private const STDOUT = 6;
    private const STDERR = 7;
    private const KEEP = 1;

    /** @var resource */
    private $stream;

    public function __construct(string $address)
    {
        $stream = \stream_socket_client($address, $code, $why, 5);
        if ($stream === false) {
            throw new RuntimeException($address . ': ' . $why);
        }
        \stream_set_timeout($stream, 60); // a busy machine is no failure
        $this->stream = $stream;
    }

    /**
     * @param array<string, string> $params
     * @param bool                  $keep   whether FPM is to keep the connection open, as the sidecar always asks
     */
    public function send(array $params, string $body, bool $keep = true): void
    {
        $pairs = '';
        foreach ($params as $name => $value) {
            $pairs .= self::length($name) . self::length($value) . $name . $value;
        }
        $request = self::record(self::BEGIN, \pack('nCx5', 1, $keep ? self::KEEP : 0))
            . self::record(self::PARAMS, $pairs) . self::record(self::PARAMS, '');
        foreach ($body === '' ? [] : \str_split($body, 32768) as $piece) {
            $request .= self::record(self::STDIN, $piece);
        }
        \fwrite($this->stream, $request . self::record(self::STDIN, ''));
    }

    /** Reads to the end of the request, or of the connection. */
    public function receive(): Reply
    {
        $reply = new Reply();
        while (!$reply->ended && $this->read($reply)) {
            continue;
        }
        return $reply;
    }

    /** Reads records until one has brought this text on STDERR. */
    public function receiveError(string $text): Reply
    {
        $reply = new Reply();
        while (\strpos($reply->stderr, $text) === false && $this->read($reply)) {
            continue;
        }
        return $reply;
    }

    public function close(): void
    {
        \fclose($this->stream);
    }

    private function read(Reply $reply): bool
    {
        $header = Bytes::read($this->stream, 8);
        if ($header === null) {
            return false;
        }
        $head = \unpack('Cversion/Ctype/nid/nlength/Cpadding', $header);
        $content = (string) Bytes::read($this->stream, $head['length']);
        Bytes::read($this->stream, $head['padding']);
        switch ($head['type']) {
            case self::STDOUT:
                $reply->stdout .= $content;
                break;
            case self::STDERR:
                $reply->stderr .= $content;
                break;
            case self::END:
                $reply->ended = true;
                break;
        }
        return true;
    }

    private static function record(int $type, string $content): string
    {
        return \pack('CCnnCx', 1, $type, 1, \strlen($content), 0) . $content;
    }

    private static function length(string $text): string
    {
        return \strlen($text) < 128 ? \chr(\strlen($text)) : \pack('N', \strlen($text) | 0x80000000);
    }
}
