<?php

declare(strict_types=1);

namespace Sidecar;

/**
 * Takes the producer's jobs: to send them, or to collect them first.
 *
 * @internal
 */
interface Outbox
{
    /** @param Entry[] $entries */
    public function put(array $entries): void;
}
