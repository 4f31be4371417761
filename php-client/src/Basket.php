<?php

declare(strict_types=1);

namespace Sidecar;

/**
 * Collects jobs that go out together.
 *
 * @internal
 */
final class Basket implements Outbox
{
    /** @var Entry[] */
    private $entries = [];

    public function put(array $entries): void
    {
        foreach ($entries as $entry) {
            $this->entries[] = $entry;
        }
    }

    /** @return Entry[] */
    public function entries(): array
    {
        return $this->entries;
    }
}
