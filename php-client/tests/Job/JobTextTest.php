<?php

declare(strict_types=1);

namespace Sidecar\Tests\Job;

use PHPUnit\Framework\TestCase;
use Sidecar\Job\JobText;
use Sidecar\UnableToEncodeJob;

final class JobTextTest extends TestCase
{
    private const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}';

    /**
     * @dataProvider named
     */
    public function testAJobThatHasItsUuidIsWrittenAsPhpDoes($job, string $text, string $uuid): void
    {
        $written = JobText::ofTopic($job);
        self::assertSame($text, $written->text());
        self::assertSame($uuid, $written->uuid());
        if (!\is_string($job)) {
            self::assertSame(\json_encode($job, \JSON_UNESCAPED_UNICODE), $written->text());
        }
    }

    public static function named(): array
    {
        $object = new class implements \JsonSerializable {
            public function jsonSerialize(): array
            {
                return ['uuid' => 'o', 'amount' => 9.5];
            }
        };
        return [
            'an array' => [['uuid' => 'a', 'note' => '订单/é'], '{"uuid":"a","note":"订单\/é"}', 'a'],
            'empty ones' => [['uuid' => 'a', 'l' => [], 'o' => new \stdClass()], '{"uuid":"a","l":[],"o":{}}', 'a'],
            'the uuid last' => [['b' => 1.5, 'uuid' => 'a'], '{"b":1.5,"uuid":"a"}', 'a'],
            'a uuid that is a number' => [['uuid' => 42], '{"uuid":42}', '42'],
            'a line separator' => [['uuid' => "\u{2028}"], '{"uuid":"\u2028"}', "\u{2028}"],
            'an object' => [(object) ['uuid' => 'a', 'x' => null], '{"uuid":"a","x":null}', 'a'],
            'one that says how' => [$object, '{"uuid":"o","amount":9.5}', 'o'],
            'a text' => ["\n{ \"b\" : 1.0, \"uuid\":\"\\u0061\" }\r\n", "\n{ \"b\" : 1.0, \"uuid\":\"\\u0061\" }\r\n", 'a'],
            'a text with two, as PHP reads it' => ['{"uuid":"a","uuid":"b"}', '{"uuid":"a","uuid":"b"}', 'b'],
        ];
    }

    /**
     * @dataProvider unnamed
     */
    public function testAJobWithoutUuidGetsOneAtItsEnd($job, string $before, string $after): void
    {
        $written = JobText::ofTopic($job);
        $wanted = '/^' . \preg_quote($before, '/') . '"uuid":"(' . self::UUID . ')"' . \preg_quote($after, '/') . '$/D';
        self::assertMatchesRegularExpression($wanted, $written->text());
        self::assertSame(\json_decode($written->text(), true)['uuid'], $written->uuid());
        self::assertNotSame($written->uuid(), JobText::ofTopic($job)->uuid());
    }

    public static function unnamed(): array
    {
        return [
            'an array' => [['n' => 1], '{"n":1,', '}'],
            'an empty array' => [[], '{', '}'],
            'an empty object' => [new \stdClass(), '{', '}'],
            'a text' => ['{"n":1}', '{"n":1,', '}'],
            'an empty text' => ['{}', '{', '}'],
            'a text with room' => [" { } \n", ' { ', "} \n"],
            'a text that ends with an object' => ['{"o":{ } }', '{"o":{ } ,', '}'],
            'a brace in a name' => ['{"{":"}"}', '{"{":"}",', '}'],
        ];
    }

    public function testAListsJobGetsWhatItLacksInTheContractsOrder(): void
    {
        $job = JobText::ofList([], 'send_sms', 1700000000);
        self::assertSame(
            '{"job_id":"' . $job->uuid() . '","type":"send_sms","payload":{},"retry_count":0,"max_retry":3,'
                . '"created_at":1700000000}',
            $job->text()
        );
    }

    public function testAListsJobKeepsWhatItHasWhereItIs(): void
    {
        $job = JobText::ofList(['max_retry' => '1', 'type' => null, 'job_id' => 'j', 'due' => 7], 'send_sms', 5);
        self::assertSame(
            '{"max_retry":"1","type":null,"job_id":"j","due":7,"payload":{},"retry_count":0,"created_at":5}',
            $job->text()
        );
        self::assertSame('j', $job->uuid());
    }

    public function testAListsJobThatIsATextOnlyGetsItsName(): void
    {
        self::assertSame('{"job_id":"j"}', JobText::ofList('{"job_id":"j"}', 't', 5)->text());
        $named = JobText::ofList('{"type":"a"}', 't', 5);
        self::assertSame('{"type":"a","job_id":"' . $named->uuid() . '"}', $named->text());
    }

    /**
     * @dataProvider refused
     */
    public function testWhatIsNoJobIsRefusedWithThePlace($job, string $path, string $why): void
    {
        try {
            $text = JobText::ofTopic($job)->text();
        } catch (UnableToEncodeJob $refused) {
            self::assertSame($path, $refused->path());
            self::assertStringContainsString($why, $refused->getMessage());
            self::assertStringNotContainsString('caf', $refused->getMessage(), 'values may be secret');
            return;
        }
        self::fail('written as ' . $text);
    }

    public static function refused(): array
    {
        $deep = [];
        for ($i = 0; $i < 600; $i++) {
            $deep = ['d' => $deep];
        }
        $loop = new \stdClass();
        $loop->self = $loop;
        $latin = "caf\xE9";
        $throwing = new class implements \JsonSerializable {
            public function jsonSerialize(): array
            {
                throw new \DomainException('not me');
            }
        };
        return [
            'no UTF-8' => [['payload' => ['to' => ['name' => $latin]]], 'payload.to.name', 'not UTF-8'],
            'no UTF-8 in an object' => [(object) ['a' => [1, $latin]], 'a.1', 'not UTF-8'],
            'no UTF-8 in a name' => [['a' => [$latin => 1]], 'a', 'a name in it is not UTF-8'],
            'no UTF-8 in a text' => ['{"a":"' . $latin . '"}', '', 'Malformed UTF-8'],
            'not a number' => [['price' => \NAN], 'price', 'NAN has no JSON'],
            'infinity' => [['price' => ['net' => -\INF]], 'price.net', '-INF has no JSON'],
            'a stream' => [['file' => \STDIN], 'file', 'a resource has no JSON'],
            'too deep' => [['x' => $deep], 'x', 'deeper than 512'],
            'too deep a text' => ['{"x":' . \str_repeat('[', 600) . \str_repeat(']', 600) . '}', '', 'stack depth'],
            'a loop' => [['x' => $loop], 'x', 'deeper than 512'],
            'an object that throws' => [$throwing, '', 'not me'],
            'a list' => [[1, 2], '', 'with names'],
            'a text that is a list' => [' []', '', 'with names'],
            'a text that is a string' => ['"{}"', '', 'with names'],
            'a text that is null' => ['null', '', 'with names'],
            'no JSON' => ['{"a":1', '', 'Syntax error'],
            'an empty text' => ['', '', 'Syntax error'],
            'a number' => [42, '', 'not integer'],
            'nothing' => [null, '', 'not NULL'],
            'no uuid in the uuid' => [['uuid' => null], 'uuid', 'not empty'],
            'an empty uuid' => [['uuid' => ''], 'uuid', 'not empty'],
            'a uuid of another kind in a text' => ['{"uuid":[1]}', 'uuid', 'not empty'],
        ];
    }
}
