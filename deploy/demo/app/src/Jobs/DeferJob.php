<?php

declare(strict_types=1);

namespace Shop\Jobs;

/** "Not now, but then": no try is counted. */
final class DeferJob extends \RuntimeException
{
    private int $delayMs;

    public function __construct(int $delayMs)
    {
        parent::__construct("not open yet, come back in $delayMs ms");
        $this->delayMs = $delayMs;
    }

    public function delayMs(): int
    {
        return $this->delayMs;
    }
}
