<?php

declare(strict_types=1);

namespace Sidecar\Circuit;

/**
 * The state in a small file, shared by all processes of one user: an FPM pool without APCu.
 *
 * While Redis answers there is no file, or an empty one. Where it can be neither read nor written each request finds
 * out by itself, and no more than that.
 */
final class FileState implements CircuitState
{
    /** @var string '' where there is no safe place */
    private $path;

    public function __construct(string $path)
    {
        $this->path = $path;
    }

    /** In a directory of this user's own below the one for temporary files. */
    public static function named(string $name): self
    {
        $user = \function_exists('posix_geteuid') ? \posix_geteuid() : \getmyuid();
        $dir = \sys_get_temp_dir() . '/sidecar-circuit-' . $user;
        @\mkdir($dir, 0700);
        // another user may have put something there that is not ours to write to
        $ours = !@\is_link($dir) && @\is_dir($dir) && @\fileowner($dir) === $user && (@\fileperms($dir) & 0022) === 0;
        return new self($ours ? $dir . '/' . \sha1($name) : '');
    }

    public function failures(): int
    {
        return $this->read()[0];
    }

    public function openUntil(): int
    {
        return $this->read()[1];
    }

    public function countFailure(): int
    {
        $count = 1;
        $this->change(static function (int $failures, int $until) use (&$count): array {
            $count = $failures + 1;
            return [$count, $until];
        });
        return $count;
    }

    public function move(int $seen, int $next): bool
    {
        $moved = false;
        $this->change(static function (int $failures, int $until) use ($seen, $next, &$moved): array {
            $moved = $until === $seen;
            return [$failures, $moved ? $next : $until];
        });
        return $moved;
    }

    public function reset(): void
    {
        $this->change(static function (): array {
            return [0, 0];
        });
    }

    /** @return int[] failures, open until */
    private function read(): array
    {
        return $this->path === '' ? [0, 0] : self::parse((string) @\file_get_contents($this->path));
    }

    private function change(callable $change): void
    {
        $file = $this->path === '' ? false : @\fopen($this->path, 'c+');
        if ($file === false) {
            return;
        }
        if (\flock($file, \LOCK_EX)) {
            $state = $change(...self::parse((string) \stream_get_contents($file)));
            // one write of one length: a reader, who does not lock, sees the old or the new
            \rewind($file);
            \fwrite($file, \sprintf('%010d %019d', ...$state));
        }
        \fclose($file);
    }

    private static function parse(string $content): array
    {
        return \preg_match('/^(\d{10}) (\d{19})$/D', $content, $found) === 1
            ? [(int) $found[1], (int) $found[2]]
            : [0, 0];
    }
}
