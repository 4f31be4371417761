<?php

declare(strict_types=1);

namespace Sidecar;

/**
 * Jobs are neither in Redis nor in a spool, as far as is known: the caller has them still in hand.
 */
final class UnableToEnqueue extends \RuntimeException implements SidecarException
{
    /** @var Entry[] */
    private $lost = [];

    /** @var string[] */
    private $uncertain = [];

    /** @var string[] */
    private $enqueued = [];

    /** @var string[] */
    private $spooled = [];

    /**
     * There is no spool.
     *
     * @internal
     *
     * @param Entry[] $lost
     * @param Entry[] $uncertain
     * @param Entry[] $enqueued
     * @param Entry[] $spooled
     */
    public static function jobs(array $lost, array $uncertain, array $enqueued, array $spooled, \Throwable $why): self
    {
        $first = \reset($lost);
        $rest = \count($lost) - 1;
        $failure = new self(\sprintf(
            'enqueue job %s%s for %s: %s',
            $first->uuid(),
            $rest === 0 ? '' : ' and ' . $rest . ' more',
            $first->key(),
            $why->getMessage()
        ), 0, $why);
        $failure->lost = \array_values($lost);
        $failure->uncertain = self::uuids($uncertain);
        $failure->enqueued = self::uuids($enqueued);
        $failure->spooled = self::uuids($spooled);
        return $failure;
    }

    /**
     * There is a spool, and it failed too.
     *
     * @internal
     *
     * @param Entry[] $lost
     * @param Entry[] $uncertain
     * @param Entry[] $enqueued
     * @param Entry[] $spooled
     */
    public static function norSpool(
        array $lost,
        array $uncertain,
        array $enqueued,
        array $spooled,
        \Throwable $why,
        \Throwable $spoolFault
    ): self {
        $both = new \RuntimeException($why->getMessage() . '; ' . $spoolFault->getMessage(), 0, $spoolFault);
        return self::jobs($lost, \array_intersect_key($uncertain, $lost), $enqueued, $spooled, $both);
    }

    /** The uuid of the job, of several the first one's. */
    public function uuid(): string
    {
        return $this->lost[0]->uuid();
    }

    /** The text of the job, of several the first one's: what would have been written. */
    public function text(): string
    {
        return $this->lost[0]->text();
    }

    /** @return array<array{uuid: string, text: string}> all that are still in hand, in their order */
    public function lost(): array
    {
        return \array_map(static function (Entry $entry): array {
            return ['uuid' => $entry->uuid(), 'text' => $entry->text()];
        }, $this->lost);
    }

    /** @return string[] the uuids among lost() that may be in Redis after all: the answer to their write is missing */
    public function uncertain(): array
    {
        return $this->uncertain;
    }

    /** @return string[] the uuids of those that are in Redis */
    public function enqueued(): array
    {
        return $this->enqueued;
    }

    /** @return string[] the uuids of those that are in the spool */
    public function spooled(): array
    {
        return $this->spooled;
    }

    /**
     * @param Entry[] $entries
     *
     * @return string[]
     */
    private static function uuids(array $entries): array
    {
        return \array_values(\array_map(static function (Entry $entry): string {
            return $entry->uuid();
        }, $entries));
    }
}
