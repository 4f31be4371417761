<?php

declare(strict_types=1);

namespace Sidecar\Tests;

/**
 * examples/producer.php and bulk.php as they are, each in a PHP of its own.
 */
final class ExamplesTest extends RedisTestCase
{
    public function testProducer(): void
    {
        [$uuid, $jobId] = \explode("\n", self::runExample('producer.php'));
        $shard = 'queue:prod:send_sms_' . \crc32('order-4567') % 8;
        $content = $this->content();
        self::assertSame(['delay:pool:order_timeout', 'delay:pool:reminder', $shard], \array_keys($content));
        $text = '{"order_id":4567,"note":"未付款","uuid":"' . $uuid . '"}';
        self::assertEqualsWithDelta($this->now() + 1800000, $this->score('delay:pool:order_timeout', $text), 60000);
        self::assertSame(['{"uuid":"reminder-4567","order_id":4567}'], $content['delay:pool:reminder']);
        $job = \json_decode($content[$shard][0], true);
        self::assertSame([$jobId, 'send_sms', 3], [$job['job_id'], $job['type'], $job['max_retry']]);
        self::runExample('producer.php');
        self::assertCount(1, $this->content()['delay:pool:reminder']);
    }

    public function testBulk(): void
    {
        self::assertSame('1002 enqueued', self::runExample('bulk.php'));
        self::assertCount(1001, $this->content()['delay:pool:order_timeout']);
        self::assertCount(1, $this->content()['queue:prod:send_sms']);
    }

    public function testBulkThatRedisRefuses(): void
    {
        $this->redis->set('queue:prod:send_sms', 'no list');
        self::assertSame('1 enqueued, 1 left', self::runExample('bulk.php'));
        self::assertCount(1001, $this->content()['delay:pool:order_timeout']);
    }

    private static function runExample(string $example): string
    {
        $command = [\PHP_BINARY, '-d', 'error_log=/dev/null', __DIR__ . '/../examples/' . $example];
        $child = \proc_open($command, [1 => ['pipe', 'w'], 2 => \STDERR], $pipes, null, [
            'REDIS_URL' => self::server()->url(),
        ] + \getenv());
        $output = (string) \stream_get_contents($pipes[1]);
        self::assertSame(0, \proc_close($child), $output);
        return \trim($output);
    }
}
