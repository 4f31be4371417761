<?php

declare(strict_types=1);

namespace Sidecar;

/**
 * The job cannot be written as the JSON object that handlers read. Nothing was written, not even a part.
 */
final class UnableToEncodeJob extends \InvalidArgumentException implements SidecarException
{
    /** @var string */
    private $path = '';

    /** The job as a whole is at fault. */
    public static function because(string $why, ?\Throwable $previous = null): self
    {
        return new self('encode job: ' . $why, 0, $previous);
    }

    /** One place of it is at fault, such as `payload.params.name`; what stands there is not repeated here. */
    public static function at(string $path, string $why): self
    {
        $fault = new self(\sprintf('encode job: %s: %s', $path, $why));
        $fault->path = $path;
        return $fault;
    }

    /** Where the fault lies, '' where it is the job as a whole. */
    public function path(): string
    {
        return $this->path;
    }
}
