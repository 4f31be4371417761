<?php

declare(strict_types=1);

namespace Sidecar\Connection;

/**
 * A connection that is made when the first job is written, and made anew after it has failed.
 */
final class OnDemandConnection implements Connection
{
    /** @var callable */
    private $connect;

    /** @var string */
    private $name;

    /** @var Connection|null The last one made: it still knows how it packs when it has failed. */
    private $connection;

    /** @var bool */
    private $failed = false;

    /** @param callable $connect returns a Connection; what it throws means that there is none */
    public function __construct(callable $connect, string $name)
    {
        $this->connect = $connect;
        $this->name = $name;
    }

    public function name(): string
    {
        return $this->name;
    }

    public function member(string $text): string
    {
        return $this->connection === null ? $text : $this->connection->member($text);
    }

    public function addIn(string $key, int $unit, array $rows): void
    {
        $this->write(static function (Connection $connection) use ($key, $unit, $rows): void {
            $connection->addIn($key, $unit, $rows);
        });
    }

    public function addAt(string $key, array $rows): void
    {
        $this->write(static function (Connection $connection) use ($key, $rows): void {
            $connection->addAt($key, $rows);
        });
    }

    public function push(string $key, array $texts): void
    {
        $this->write(static function (Connection $connection) use ($key, $texts): void {
            $connection->push($key, $texts);
        });
    }

    private function write(callable $write): void
    {
        try {
            if ($this->connection === null || $this->failed) {
                $this->connection = ($this->connect)();
                $this->failed = false;
            }
        } catch (UnsuitableConnection $misuse) {
            throw $misuse;
        } catch (\Exception $failure) {
            throw ConnectionFailed::to($this->name, $failure->getMessage(), $failure);
        }
        try {
            $write($this->connection);
        } catch (ConnectionFailed $failure) {
            $this->failed = true; // a late answer must not be taken for the next one
            throw $failure;
        }
    }
}
