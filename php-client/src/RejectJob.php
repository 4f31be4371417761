<?php

declare(strict_types=1);

namespace Sidecar;

/**
 * Thrown by a handler: never run this job again.
 *
 * The sidecar knows it by its short name, so a class RejectJob of your own does as well.
 */
final class RejectJob extends \RuntimeException implements SidecarException
{
    /** The job can never succeed: it goes to dead without another try. */
    public static function because(string $why, ?\Throwable $previous = null): self
    {
        return new self($why, 0, $previous);
    }
}
