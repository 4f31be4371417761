<?php

declare(strict_types=1);

namespace Sidecar;

use Sidecar\Circuit\CircuitBreaker;
use Sidecar\Connection\Connection;
use Sidecar\Connection\ConnectionFailed;
use Sidecar\Connection\ErrorReply;
use Sidecar\Spool\Spool;

/**
 * Writes jobs to Redis, or into the spool where Redis does not take them.
 *
 * Nothing is tried twice: whether a write without an answer happened is not known, and a web request has no time.
 *
 * @internal
 */
final class Sender implements Outbox
{
    /** @var Connection */
    private $connection;

    /** @var CircuitBreaker */
    private $circuit;

    /** @var Spool|null */
    private $spool;

    /** @var callable|null */
    private $onSpooled;

    public function __construct(Connection $connection, CircuitBreaker $circuit, ?Spool $spool, ?callable $onSpooled)
    {
        $this->connection = $connection;
        $this->circuit = $circuit;
        $this->spool = $spool;
        $this->onSpooled = $onSpooled;
    }

    public function put(array $entries): void
    {
        $left = $entries;
        try {
            foreach ($entries === [] ? [] : Parcel::pack($entries) as $parcel) {
                $this->send($parcel);
                $left = \array_diff_key($left, $parcel->entries());
            }
        } catch (ConnectionFailed $failure) {
            $open = $failure->wasSent() ? $parcel->entries() : [];
            $this->park(\array_diff_key($entries, $left), $left, $open, $failure);
        } catch (ErrorReply $failure) {
            $this->park(\array_diff_key($entries, $left), $left, [], $failure);
        }
    }

    private function send(Parcel $parcel): void
    {
        if (!$this->circuit->allows()) {
            throw ConnectionFailed::assumed($this->connection->name());
        }
        try {
            $parcel->sendThrough($this->connection);
        } catch (ConnectionFailed $failure) {
            $this->circuit->failed();
            throw $failure;
        } catch (ErrorReply $failure) {
            $this->circuit->succeeded(); // it answers, and soon
            throw $failure;
        }
        $this->circuit->succeeded();
    }

    /**
     * @param Entry[] $sent
     * @param Entry[] $left
     * @param Entry[] $open those of $left that may be in Redis
     */
    private function park(array $sent, array $left, array $open, \Exception $why): void
    {
        if ($this->spool === null) {
            throw UnableToEnqueue::jobs($left, $open, $sent, [], $why);
        }
        $jobs = [];
        foreach ($left as $place => $entry) {
            $jobs[$place] = $entry->spooled(isset($open[$place]) ? $this->memberOf($entry) : $entry->text());
            try {
                $this->spool->add($jobs[$place]);
            } catch (\Exception $fault) {
                unset($jobs[$place]);
                $lost = \array_diff_key($left, $jobs);
                throw UnableToEnqueue::norSpool($lost, $open, $sent, \array_intersect_key($left, $jobs), $why, $fault);
            }
        }
        foreach ($this->onSpooled === null ? [] : $jobs as $job) {
            try {
                ($this->onSpooled)($job, $why);
            } catch (\Throwable $fault) { // the job is safe: what cannot be told must not fail the request
                \error_log('sidecar: on_spooled: ' . \get_class($fault));
            }
        }
    }

    /** What may stand in Redis already: the same bytes again become the same member of a pool, not a second one. */
    private function memberOf(Entry $entry): string
    {
        try {
            return $this->connection->member($entry->text());
        } catch (\Exception $unconnected) {
            return $entry->text();
        }
    }
}
