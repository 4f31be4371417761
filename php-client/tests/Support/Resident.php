<?php

declare(strict_types=1);

namespace Sidecar\Tests\Support;

use RuntimeException;

/**
 * The sidecar's end of a resident worker: its request to FPM and the connection that the bridge makes to us.
 */
final class Resident
{
    private const SECONDS = 60;

    /** @var Connection The request to FPM that the worker lives in. */
    private $request;

    /** @var resource The frames. */
    private $stream;

    /** @var Reply|null */
    private $reply;

    /** @var array The content of the hello. */
    private $hello;

    /**
     * @param resource $server where the bridge is told to call
     */
    public function __construct(Connection $request, $server)
    {
        $this->request = $request;
        $stream = @\stream_socket_accept($server, self::SECONDS);
        if ($stream === false) {
            throw new RuntimeException('the bridge did not call');
        }
        \stream_set_timeout($stream, self::SECONDS);
        $this->stream = $stream;
        $this->hello = $this->expect('H');
    }

    public function hello(): array
    {
        return $this->hello;
    }

    /** What FPM has sent for the request by the time it is over. */
    public function reply(): Reply
    {
        $this->reply = $this->reply ?? $this->request->receive();
        return $this->reply;
    }

    /** Waits until this text has come on STDERR. */
    public function error(string $text): string
    {
        return $this->request->receiveError($text)->stderr;
    }

    /** Sends raw bytes. */
    public function write(string $bytes): void
    {
        for ($left = $bytes; $left !== ''; $left = \substr($left, $written)) {
            $written = @\fwrite($this->stream, $left);
            if ($written === false || $written === 0) {
                throw new RuntimeException('the worker does not read');
            }
        }
    }

    public function send(string $type, string $body = ''): void
    {
        $this->write(self::frame($type, $body));
    }

    public static function frame(string $type, string $body): string
    {
        return \pack('N', 1 + \strlen($body)) . $type . $body;
    }

    public static function job(int $id, string $text, array $header = []): string
    {
        $header = (string) \json_encode($header + ['uuid' => 'u-' . $id, 'tries' => 0, 'crashes' => 0]);
        return self::frame('J', \pack('Nn', $id, \strlen($header)) . $header . $text);
    }

    /** Runs one job and returns its verdict. */
    public function run(int $id, string $text, array $header = []): array
    {
        $this->write(self::job($id, $text, $header));
        return $this->verdict($id);
    }

    /** The verdict of this job, which must be the next frame. */
    public function verdict(int $id): array
    {
        return $this->answer('V', $id);
    }

    /** The last verdict of a worker that dies. */
    public function dead(int $id): array
    {
        $verdict = $this->answer('D', $id);
        $this->expectEnd();
        return $verdict;
    }

    /** The worker leaves between two jobs. */
    public function bye(string $why): array
    {
        $bye = $this->expect('B');
        if ($bye['why'] !== $why) {
            throw new RuntimeException('it leaves because of ' . $bye['why']);
        }
        $this->expectEnd();
        return $bye;
    }

    /** The content of the next frame, which must be of this type. */
    public function expect(string $type): array
    {
        [$got, $body] = $this->receive();
        if ($got !== $type) {
            throw new RuntimeException('got ' . $got . ' ' . $body . ' instead of ' . $type);
        }
        return \json_decode($body, true, 512, \JSON_THROW_ON_ERROR);
    }

    /** The next frame as [type, body]; type '' at the end of the connection. */
    public function receive(): array
    {
        $head = Bytes::read($this->stream, 5);
        if ($head === null) {
            return ['', ''];
        }
        ['length' => $length, 'type' => $type] = \unpack('Nlength/atype', $head);
        return [$type, (string) Bytes::read($this->stream, $length - 1)];
    }

    public function expectEnd(): void
    {
        [$type, $body] = $this->receive();
        if ($type !== '') {
            throw new RuntimeException('got ' . $type . ' ' . $body . ' instead of the end');
        }
    }

    /** Cuts the worker off; it frees its child of the pool then. */
    public function end(): void
    {
        $this->hangUp();
        $this->reply();
        $this->request->close();
    }

    public function hangUp(): void
    {
        if (\is_resource($this->stream)) {
            \fclose($this->stream);
        }
    }

    private function answer(string $type, int $id): array
    {
        [$got, $body] = $this->receive();
        if ($got !== $type || \unpack('N', $body)[1] !== $id) {
            throw new RuntimeException('got ' . $got . ' ' . $body . ' instead of ' . $type . ' ' . $id);
        }
        $verdict = \json_decode(\substr($body, 4), true, 512, \JSON_THROW_ON_ERROR);
        $verdict += ['error' => '', 'trace' => '', 'delay_ms' => 0]; // empty ones may be left out
        $verdict['out'] = (string) \base64_decode($verdict['out'] ?? '', true);
        return $verdict;
    }
}
