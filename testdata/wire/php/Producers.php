<?php

declare(strict_types=1);

namespace Sidecar\Wire;

use Sidecar\Connection\Connection;
use Sidecar\Producer;

/** What the PHP client's producer writes, and where to. */
final class Producers implements Connection
{
    /** @var array<array{string, string}> key, text */
    private $written = [];

    public static function vectors(): string
    {
        $file = new VectorFile();
        foreach (self::cases() as $name => $write) {
            $connection = new self();
            $uuid = $write(Producer::to($connection, ['lists' => ['queue:prod:send_sms' => ['shards' => 8]]]));
            [$key, $text] = $connection->written[0];
            $job = json_decode($text, true);
            $vector = ['case' => $name, 'profile' => strpos($key, 'delay:') === 0 ? 'delay' : 'list', 'key' => $key];
            $vector += ['text' => $text, 'uuid' => $uuid];
            $vector += isset($job['type']) ? ['type' => (string) $job['type']] : [];
            $vector += ['tries' => (int) ($job['retry'] ?? $job['retry_count'] ?? 0)];
            $vector += isset($job['max_retry']) ? ['max retry' => (int) $job['max_retry']] : [];
            $file->add($vector);
        }
        return $file->render('What the PHP client\'s producer writes.');
    }

    public function name(): string
    {
        return 'vectors';
    }

    public function member(string $text): string
    {
        return $text;
    }

    public function addIn(string $key, int $unit, array $rows): void
    {
        $this->written[] = [$key, $rows[0][1]];
    }

    public function addAt(string $key, array $rows): void
    {
        $this->written[] = [$key, $rows[0][1]];
    }

    public function push(string $key, array $texts): void
    {
        $this->written[] = [$key, $texts[0]];
    }

    /** @return array<string, callable> */
    private static function cases(): array
    {
        $jobs = [
            'an array' => ['uuid' => 'a1', 'note' => '订单 é/"\\', 'price' => 9.9, 'whole' => 1.0],
            'empty ones' => ['uuid' => 'a1', 'list' => [], 'object' => new \stdClass(), 'none' => null],
            'an object' => (object) ['order_id' => 42, 'uuid' => 'a1'],
            'a uuid that is a number' => ['uuid' => 42, 'type' => 'order_timeout'],
            'line separators' => ['uuid' => "a\u{2028}b\u{1F600}"],
            'tried before' => ['uuid' => 'a1', 'retry' => 3, 'last_error' => 'no'],
            'JSON as it is' => "{ \"uuid\" : \"\\u0061\\/1\", \"n\": 1.0, \"e\":{} }\n",
        ];
        $cases = [];
        foreach ($jobs as $name => $job) {
            $cases[$name] = static function (Producer $producer) use ($job): string {
                return $producer->later('order_timeout', $job, 5);
            };
        }
        $cases['at a time'] = static function (Producer $producer): string {
            return $producer->at('{mail}', ['uuid' => 'a1'], new \DateTime('@1714567890'));
        };
        $lists = [
            'a list\'s job' => ['job_id' => 'ord_20240520_789456', 'payload' => ['phone' => '138'], 'created_at' => 1716201234],
            'the least of a list\'s job' => ['job_id' => 'j1', 'created_at' => 1716201234],
            'all of a list\'s job' => ['job_id' => 'j1', 'type' => 'write_log', 'payload' => new \stdClass(),
                'retry_count' => 1, 'max_retry' => '5', 'created_at' => 1716201234, 'due' => 1],
            'a job_id that is a number' => ['job_id' => 42, 'type' => 7, 'created_at' => 1716201234],
            'a list\'s job as JSON' => '{"job_id":"编号","type":"send_sms"}',
            'JSON without a type' => '{"job_id":"j1"}',
        ];
        foreach ($lists as $name => $job) {
            $cases[$name] = static function (Producer $producer) use ($job): string {
                return $producer->push('queue:prod:send_sms', $job);
            };
        }
        $cases['a list without shards'] = static function (Producer $producer): string {
            return $producer->push('queue:v2:prod:write_log', ['job_id' => 'j1', 'created_at' => 1716201234]);
        };
        return $cases;
    }
}
