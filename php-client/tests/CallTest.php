<?php

declare(strict_types=1);

namespace Sidecar\Tests;

/**
 * call = "Class::method" or "function": how a job becomes arguments.
 */
final class CallTest extends BridgeTestCase
{
    /**
     * @dataProvider signatures
     */
    public function testParametersGetWhatTheirTypesAskFor(string $parameters, string $body, string $output): void
    {
        self::assertDone(self::call('h', "function h($parameters) { $body }"), $output);
    }

    public static function signatures(): array
    {
        return [
            'none' => ['', 'echo "ran";', 'ran'],
            'untyped' => ['$job', 'echo gettype($job), $job["order_id"];', 'array42'],
            'array' => ['array $job', 'echo $job["address"]["city"];', 'Oslo'],
            'nullable array' => ['?array $job', 'echo $job["uuid"];', 'u-1'],
            'array with a default' => ['array $job = []', 'echo $job["uuid"];', 'u-1'],
            'iterable' => ['iterable $job', 'echo $job["uuid"];', 'u-1'],
            'object' => ['object $job', 'echo $job->address->city;', 'Oslo'],
            'stdClass' => ['stdClass $job', 'echo $job->address->city;', 'Oslo'],
            'string' => ['string $job', 'echo $job;', self::JOB],
            'union' => ['array|string $job', 'echo gettype($job);', 'array'],
            'variadic' => ['...$jobs', 'echo count($jobs), $jobs[0]["uuid"];', '1u-1'],
            'one scalar' => ['int $order_id', 'var_dump($order_id);', "int(42)\n"],
            'several' => ['bool $paid, int $order_id', 'var_dump($paid, $order_id);', "bool(true)\nint(42)\n"],
            'several, one by default' => ['$uuid, $by = "cron"', 'echo $uuid, $by;', 'u-1cron'],
            'several, a default between' => ['$uuid, $x = "d", $order_id = 0', 'echo $uuid, $x, $order_id;', 'u-1d42'],
            'several, a nullable service' => ['$uuid, ?DateTime $d = null', 'var_dump($d);', "NULL\n"],
            'a service that has a default' => ['?DateTimeImmutable $tags = null', 'var_dump($tags);', "NULL\n"],
            'one of a field\'s name' => ['int $order_id, ?DateTime $paid = null', 'var_dump($paid);', "NULL\n"],
            'one between fields' => ['$uuid, ?DateTime $paid = null, $order_id = 0', 'echo $uuid, $order_id;', 'u-142'],
            'a callable' => ['$uuid, ?callable $tags = null', 'var_dump($tags);', "NULL\n"],
            'services, variadic' => ['$uuid, DateTime ...$tags', 'echo count($tags);', '0'],
            'several, variadic' => ['$uuid, ...$more', 'echo $uuid, count($more);', 'u-10'],
            'a string field' => ['string $uuid, array $tags', 'echo $uuid, implode($tags);', 'u-1ab'],
            'an object field' => ['string $uuid, object $address', 'echo $address->city;', 'Oslo'],
            'by reference' => ['array &$job', '$job = 1; echo "ran";', 'ran'],
        ];
    }

    public function testArgumentsAreCoercedAlsoForCodeWithStrictTypes(): void
    {
        $code = 'declare(strict_types=1); function h(int $order_id, string $paid) { var_dump($order_id, $paid); }';
        self::assertDone(self::call('h', $code), "int(42)\nstring(1) \"1\"\n");
    }

    public function testAClassMayBeStaticOrAnInstance(): void
    {
        $code = 'namespace App\Jobs; class Job { private $n; public function __construct($n = 5) { $this->n = $n; }'
            . 'public static function s(array $job) { echo "static ", $job["uuid"]; }'
            . 'public function i(array $job) { echo $this->n, $job["uuid"]; } }'
            . 'function f(array $job) { echo "function"; }';
        self::assertDone(self::call('App\Jobs\Job::s', $code), 'static u-1');
        self::assertDone(self::call('\App\Jobs\Job::i', $code), '5u-1');
        self::assertDone(self::call('App\Jobs\f', $code), 'function');
    }

    public function testAClassMayComeFromAnAutoloader(): void
    {
        $file = self::fpm()->file('<?php class Lazy { static function go() { echo "loaded"; } }', 'Lazy.php');
        $code = 'spl_autoload_register(function ($class) { if ($class === "Lazy") { require "' . $file . '"; } });';
        self::assertDone(self::call('Lazy::go', $code), 'loaded');
    }

    /**
     * @dataProvider gaps
     */
    public function testWhatIsNotThereIsUnavailable(string $name, string $error): void
    {
        $code = 'abstract class Half { abstract static function s(); function i() {} }'
            . 'class Needy { function __construct(PDO $db) {} function go(array $job) { echo "ran"; } }'
            . 'class Shy { private static function go() {} }'
            . 'function service(DateTime $clock) {} function mixed_up($uuid, DateTime $clock) {}';
        $reply = self::call($name, $code);
        self::assertVerdict('unavailable', $error, $reply);
        self::assertSame('', $reply->output());
    }

    public static function gaps(): array
    {
        return [
            'function' => ['nope', 'function nope does not exist'],
            'class' => ['App\Nope::go', 'class App\Nope does not exist'],
            'method' => ['Needy::nope', 'class Needy has no method nope'],
            'private' => ['Shy::go', 'not public'],
            'abstract method' => ['Half::s', 'abstract'],
            'abstract class' => ['Half::i', 'cannot be instantiated'],
            'constructor with arguments' => ['Needy::go', 'the constructor of Needy requires arguments'],
            'service' => ['service', 'no job holds what parameter $clock of service asks for'],
            'service among fields' => ['mixed_up', 'parameter $clock'],
        ];
    }

    /**
     * @dataProvider jobs
     */
    public function testWhatNoJobCanHoldIsUnavailableWhateverTheJob(string $text): void
    {
        foreach (['function h($uuid, DateTime $clock) {}', 'function h(?DateTime $clock) {}'] as $code) {
            self::assertVerdict('unavailable', 'what parameter $clock of h asks for', self::call('h', $code, [], $text));
        }
    }

    /**
     * @dataProvider jobs
     */
    public function testNoJobMakesACallUnavailable(string $text): void
    {
        foreach (['$uuid, ?DateTime $clock = null', 'DateTime ...$clock', 'array $job', 'object $j'] as $parameters) {
            $reply = self::call('h', "function h($parameters) {}", [], $text);
            self::assertContains($reply->verdict(self::NONCE)['v'] ?? '', ['done', 'failed', 'rejected']);
        }
    }

    public static function jobs(): array
    {
        return [
            'with the fields' => ['{"uuid":"u-1","clock":"2024-01-01"}'],
            'without' => ['{}'],
            'of nulls' => ['{"uuid":null,"clock":null}'],
            'of objects' => ['{"uuid":{},"clock":{"date":1}}'],
            'of a name no property has' => ['{"\u0000uuid":1}'],
            'no object' => ['[]'],
            'no JSON' => ['{"uuid":'],
            'nothing' => [''],
        ];
    }

    public function testAClassMissingInsideTheHandlerIsItsFailure(): void
    {
        $reply = self::call('h', 'function h() { Gone::away(); }');
        self::assertVerdict('failed', 'Gone', $reply);
    }

    public function testAParseErrorInAnAutoloadedClassNamesItsPlace(): void
    {
        $file = self::fpm()->file("<?php\nclass Broken {", 'Broken.php');
        $code = 'spl_autoload_register(function () { require "' . $file . '"; });';
        self::assertVerdict('failed', $file . ':2', self::call('Broken::go', $code));
    }

    public function testAMissingFieldIsAFailure(): void
    {
        $reply = self::call('h', 'function h(string $uuid, $amount) { echo "ran"; }');
        self::assertVerdict('failed', 'the job has no field "amount", which h asks for', $reply);
        self::assertSame('', $reply->output());
    }

    public function testAFieldOfTheWrongKindIsAFailure(): void
    {
        self::assertVerdict('failed', 'must be of type int', self::call('h', 'function h(int $uuid, $tags) {}'));
    }

    /**
     * @dataProvider undecodable
     */
    public function testWhatPhpCannotDecodeIsRejectedUnlessTheHandlerTakesTheText(string $text, string $error): void
    {
        $reply = self::call('h', 'function h(array $job) { echo "ran"; }', [], $text);
        self::assertVerdict('rejected', $error, $reply);
        self::assertSame('', $reply->output());
        $reply = self::call('h', 'function h(string $text) { echo md5($text); }', [], $text);
        self::assertDone($reply, \md5($text));
    }

    public static function undecodable(): array
    {
        return [
            'invalid UTF-8' => ["{\"uuid\":\"b1\",\"name\":\"caf\xE9\"}", 'Malformed UTF-8'],
            'too deep' => ['{"a":' . \str_repeat('[', 600) . \str_repeat(']', 600) . '}', 'Maximum stack depth'],
            'trailing bytes' => ["{}\x08", 'cannot decode'],
            'no object' => ['5', 'not a JSON object'],
        ];
    }

    public function testANulKeyDecodesToAnArrayButNotToAnObject(): void
    {
        $text = '{"\u0000x":1,"v":"a\u0000b"}';
        self::assertDone(self::call('h', 'function h(array $j) { echo strlen($j["v"]); }', [], $text), '3');
        $reply = self::call('h', 'function h(object $j) { echo "ran"; }', [], $text);
        self::assertVerdict('rejected', 'property name', $reply);
    }
}
