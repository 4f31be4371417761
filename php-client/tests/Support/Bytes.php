<?php

declare(strict_types=1);

namespace Sidecar\Tests\Support;

/**
 * Bytes of a stream that blocks.
 */
final class Bytes
{
    /**
     * So many bytes, or null where the stream ends, or its time is up, before that.
     *
     * @param resource $stream
     */
    public static function read($stream, int $count): ?string
    {
        $bytes = '';
        while (\strlen($bytes) < $count) {
            $piece = @\fread($stream, $count - \strlen($bytes));
            if ($piece === false || $piece === '') {
                return null;
            }
            $bytes .= $piece;
        }
        return $bytes;
    }
}
