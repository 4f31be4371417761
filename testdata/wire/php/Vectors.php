<?php

declare(strict_types=1);

namespace Sidecar\Wire;

/** The groups of vectors, one file each. What PHP says is asked of PHP; nothing here is written down as expected. */
final class Vectors
{
    private const AT = '2024-05-01 12:34:56';
    private const REPLAYED_AT = '2024-05-02 00:00:01';

    /** Failures of named jobs. */
    public static function failures(): string
    {
        $error = 'connect to /run/db: 拒绝';
        $trace = "#0 /srv/shop/jobs/Order.php(12): App\\Jobs\\Order->handle('订单')\n#1 {main}";
        $file = new VectorFile();
        foreach (Cases::jobs() as $name => $text) {
            if (!OldConsumer::keeps($text)) {
                throw new \LogicException("$name: PHP does not keep its bytes");
            }
            $times = strpos($name, 'long') === 0 ? 40 : 1;
            self::addFailure($file, $name, $text, str_repeat($error, $times), str_repeat($trace, $times));
        }
        return $file->render('What the old consumer makes of a job that fails, buries and replays.');
    }

    /** Failures of jobs at random. */
    public static function random(int $seed, int $count): string
    {
        $jobs = new RandomJobs($seed);
        $file = new VectorFile();
        for ($i = 1; $i <= $count; $i++) {
            self::addFailure($file, "random $i", $jobs->text(), $jobs->string(8), $jobs->string(12));
        }
        return $file->render("As failures.txt, at random: seed $seed.");
    }

    /** How PHP reads a count of an odd type. */
    public static function counts(): string
    {
        $file = new VectorFile();
        foreach (Cases::counts() as $value) {
            $file->add(['value' => $value, 'int' => OldConsumer::tries('{"retry":' . $value . '}')]);
        }
        return $file->render('(int) of a retry field.');
    }

    /** What json_decode takes, and what it finds. */
    public static function texts(): string
    {
        $file = new VectorFile();
        foreach (Cases::texts() as $name => $text) {
            $value = json_decode($text, true);
            $error = json_last_error() === JSON_ERROR_NONE ? '' : json_last_error_msg();
            $object = is_array($value) && ltrim($text)[0] === '{' ? 'yes' : 'no';
            $uuid = is_string($value['uuid'] ?? null) ? ['uuid' => $value['uuid']] : [];
            $file->add(['case' => $name, 'text' => $text, 'error' => $error, 'object' => $object] + $uuid);
        }
        return $file->render('Texts as json_decode takes them.');
    }

    /** Strings as json_encode writes them, and their first three characters. */
    public static function strings(int $seed, int $count): string
    {
        $file = new VectorFile();
        $jobs = new RandomJobs($seed);
        $strings = array_map('chr', range(0, 127));
        for ($i = 0; $i < $count; $i++) {
            $strings[] = $i % 2 === 0 ? $jobs->string(8) : $jobs->bytes();
        }
        foreach ($strings as $s) {
            $json = json_encode($s, JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR);
            $file->add(['string' => $s, 'json' => $json, 'first' => mb_substr(json_decode($json), 0, 3)]);
        }
        return $file->render("json_encode and mb_substr; each byte of ASCII, then at random: seed $seed.");
    }

    /** Keys as PHP interpolates them and phpredis prefixes them, with the Cluster slot Redis gives them. */
    public static function keys(\Redis $redis): string
    {
        $file = new VectorFile();
        foreach (Cases::topics() as [$prefix, $topic, $uuid]) {
            $redis->setOption(\Redis::OPT_PREFIX, $prefix);
            $keys = [
                'pool' => "delay:pool:$topic",
                'ready' => "delay:ready:$topic",
                'running' => "delay:running:$topic",
                'dead' => "delay:dead:$topic",
                'idem' => "idem:$topic:$uuid",
            ];
            $vector = ['prefix' => $prefix, 'topic' => $topic, 'uuid' => $uuid];
            foreach ($keys as $role => $key) {
                $key = $redis->_prefix($key);
                $vector += [$role => $key, "$role slot" => $redis->rawCommand('CLUSTER', 'KEYSLOT', $key)];
            }
            $file->add($vector);
        }
        $redis->setOption(\Redis::OPT_PREFIX, '');
        return $file->render('Key names, and the Cluster slots Redis gives them.');
    }

    /** Members that phpredis writes where a serializer or a compression is set. */
    public static function members(\Redis $redis): string
    {
        $text = '{"uuid":"q1","topic":"mail","payload":{},"retry":0,"last_error":""}';
        $long = '{"uuid":"q2","payload":"' . str_repeat('abc', 200) . '"}';
        $job = json_decode($text, true);
        $file = new VectorFile();
        foreach (['PHP' => [$text, $job], 'IGBINARY' => [$text, $job], 'JSON' => [$text]] as $name => $values) {
            $redis->setOption(\Redis::OPT_SERIALIZER, constant("Redis::SERIALIZER_$name"));
            foreach ($values as $value) {
                $file->add(['setting' => "serializer $name", 'member' => $redis->_pack($value)]);
            }
            $redis->setOption(\Redis::OPT_SERIALIZER, \Redis::SERIALIZER_NONE);
        }
        foreach (['LZF', 'ZSTD', 'LZ4'] as $name) {
            $redis->setOption(\Redis::OPT_COMPRESSION, constant("Redis::COMPRESSION_$name"));
            foreach ([$text, $long] as $value) {
                $file->add(['setting' => "compression $name", 'member' => $redis->_pack($value)]);
            }
            $redis->setOption(\Redis::OPT_COMPRESSION, \Redis::COMPRESSION_NONE);
        }
        foreach (['gzencode', 'gzcompress'] as $function) {
            $file->add(['setting' => $function, 'member' => $function($long)]);
        }
        return $file->render('Jobs behind a phpredis serializer or compression.');
    }

    /** date() in some time zones. */
    public static function dates(): string
    {
        $file = new VectorFile();
        foreach (['UTC', 'Asia/Shanghai', 'Europe/Berlin', 'America/St_Johns'] as $zone) {
            date_default_timezone_set($zone);
            foreach ([0, 1711846799, 1711846800, 1730000000, 2147483648] as $unix) {
                $file->add(['zone' => $zone, 'unix' => $unix, 'at' => date('Y-m-d H:i:s', $unix)]);
            }
        }
        return $file->render("date('Y-m-d H:i:s').");
    }

    private static function addFailure(VectorFile $file, string $name, string $text, string $error, string $trace): void
    {
        $dead = OldConsumer::dead($text, $error, $trace, self::AT);
        $file->add([
            'case' => $name,
            'text' => $text,
            'error' => $error,
            'trace' => $trace,
            'at' => self::AT,
            'tries' => OldConsumer::tries($text),
            'failed' => OldConsumer::failed($text, $error),
            'dead' => $dead,
            'replayed at' => self::REPLAYED_AT,
            'replayed' => OldConsumer::replayed($dead, self::REPLAYED_AT),
        ]);
    }
}
