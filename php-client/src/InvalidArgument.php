<?php

declare(strict_types=1);

namespace Sidecar;

/**
 * The producer was asked for something that cannot be meant. Nothing was written.
 */
final class InvalidArgument extends \InvalidArgumentException implements SidecarException
{
    public static function because(string $why): self
    {
        return new self($why);
    }

    /** @param string[] $faults */
    public static function options(array $faults): self
    {
        return new self('options: ' . \implode('; ', $faults));
    }
}
