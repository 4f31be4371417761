<?php

declare(strict_types=1);

namespace Sidecar;

use Sidecar\Connection\Connection;

/**
 * Jobs that go out in one command: one way, one key, in order.
 *
 * @internal
 */
final class Parcel
{
    private const MAX_JOBS = 500;
    private const MAX_BYTES = 524288; // one script holds up everybody

    /** @var Entry[] by their places in the whole */
    private $entries = [];

    /** @var int */
    private $bytes = 0;

    private function __construct()
    {
    }

    /**
     * @param Entry[] $entries
     *
     * @return self[] as few as will do
     */
    public static function pack(array $entries): array
    {
        $parcels = [];
        $open = [];
        foreach ($entries as $place => $entry) {
            $target = $entry->way() . ':' . $entry->unit() . ':' . $entry->key();
            if (!isset($open[$target]) || !$open[$target]->hasRoomFor($entry)) {
                $parcels[] = $open[$target] = new self();
            }
            $open[$target]->entries[$place] = $entry;
            $open[$target]->bytes += \strlen($entry->text());
        }
        return $parcels;
    }

    /** @return Entry[] by their places in the whole */
    public function entries(): array
    {
        return $this->entries;
    }

    public function sendThrough(Connection $connection): void
    {
        $first = \reset($this->entries);
        $rows = [];
        foreach ($this->entries as $entry) {
            switch ($entry->way()) {
                case Entry::IN:
                    $rows[] = [$entry->delayMs(), $entry->text()];
                    break;
                case Entry::AT:
                    $rows[] = [$entry->score(), $entry->text()];
                    break;
                case Entry::LIST:
                    $rows[] = $entry->text();
                    break;
            }
        }
        switch ($first->way()) {
            case Entry::IN:
                $connection->addIn($first->key(), $first->unit(), $rows);
                break;
            case Entry::AT:
                $connection->addAt($first->key(), $rows);
                break;
            case Entry::LIST:
                $connection->push($first->key(), $rows);
                break;
        }
    }

    private function hasRoomFor(Entry $entry): bool
    {
        return \count($this->entries) < self::MAX_JOBS
            && $this->bytes + \strlen($entry->text()) <= self::MAX_BYTES;
    }
}
