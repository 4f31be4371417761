<?php

declare(strict_types=1);

namespace Sidecar\Wire;

/** Texts as phpredis stores them with a serializer, a compression, or both. */
final class Encodings
{
    private const SERIALIZERS = ['php' => \Redis::SERIALIZER_PHP, 'json' => \Redis::SERIALIZER_JSON, 'igbinary' => \Redis::SERIALIZER_IGBINARY];
    private const COMPRESSIONS = ['zstd' => \Redis::COMPRESSION_ZSTD, 'lz4' => \Redis::COMPRESSION_LZ4, 'lzf' => \Redis::COMPRESSION_LZF];

    /** Longer texts are given by length and checksum, and stored only where they are compressed. */
    private const LONG = 400;

    /** @var \Redis */
    private $redis;

    public function __construct(\Redis $redis)
    {
        $this->redis = $redis;
    }

    /** Jobs in every form. */
    public function texts(): string
    {
        $file = new VectorFile();
        foreach (self::forms() as [$serializer, $compression]) {
            foreach (self::jobs() as $name => $text) {
                if (strlen($text) <= self::LONG || $compression !== '') {
                    $this->addText($file, $name, $text, $serializer, $compression, 0);
                }
            }
        }
        foreach (['zstd' => 19, 'lz4' => 9] as $compression => $level) {
            foreach (self::jobs() as $name => $text) {
                $this->addText($file, "$name, level $level", $text, '', $compression, $level);
            }
        }
        return $file->render('Jobs as phpredis stores them (msgpack: the text as msgpack_pack writes it, compressed by phpredis).');
    }

    /** What phpredis stores where it is given something else than a text. */
    public function values(): string
    {
        $values = [
            'array' => ['uuid' => 'q1', 'payload' => []],
            'map' => ['uuid' => 'q1', 'payload' => array_fill_keys(range('a', 't'), 1)] + array_fill_keys(range('a', 'p'), 0),
            'object' => (object) ['uuid' => 'q1'],
            'int' => -42,
            'float' => 1.5,
            'bool' => true,
            'null' => null,
        ];
        $file = new VectorFile();
        foreach (self::forms() as [$serializer, $compression]) {
            if ($serializer === '' || $serializer === 'json') {
                continue; // then nothing but JSON itself is left, which is plain
            }
            foreach ($values as $name => $value) {
                $stored = $this->pack($value, $serializer, $compression, 0);
                $file->add(['form' => self::form($serializer, $compression), 'value' => $name, 'stored' => $stored]);
            }
        }
        return $file->render('Values that are no texts, as phpredis stores them.');
    }

    /** @return array<string, string> */
    private static function jobs(): array
    {
        $jobs = [
            'job' => '{"uuid":"q1","topic":"mail","payload":{},"retry":0,"last_error":""}',
            'characters' => '{"uuid":"订单","note":"</b>&\\"\\\\\/\u2028\'😀","z":"' . "\u{2028}" . '"}',
            'repeats' => '{"uuid":"q2","payload":"' . str_repeat('abc', 200) . '"}',
        ];
        foreach ([31, 32, 127, 128, 255, 256, 65535, 65536] as $length) { // where heads change their size
            $jobs["of $length"] = '{"uuid":"q3","pad":"' . str_repeat('x', $length - 22) . '"}';
        }
        return $jobs;
    }

    /** @return string[][] every pair of serializer and compression but none at all */
    public static function forms(): array
    {
        $forms = [];
        foreach (['', 'php', 'json', 'igbinary', 'msgpack'] as $serializer) {
            foreach (['', 'zstd', 'lz4', 'lzf'] as $compression) {
                $forms[] = [$serializer, $compression];
            }
        }
        return array_slice($forms, 1);
    }

    public static function form(string $serializer, string $compression): string
    {
        return trim("$serializer+$compression", '+');
    }

    private function addText(VectorFile $file, string $name, string $text, string $serializer, string $compression, int $level): void
    {
        $vector = ['form' => self::form($serializer, $compression), 'case' => $name, 'length' => strlen($text), 'sha1' => sha1($text)];
        if (strlen($text) <= self::LONG) {
            $vector['text'] = $text;
        }
        $file->add($vector + ['stored' => $this->pack($text, $serializer, $compression, $level)]);
    }

    /** @param mixed $value */
    public function pack($value, string $serializer, string $compression, int $level = 0): string
    {
        if ($serializer === 'msgpack') { // Debian's phpredis is built without it, and calls this function where it is not
            $value = msgpack_pack($value);
        }
        $this->set($serializer, $compression, $level);
        $stored = $this->redis->_pack($value);
        $this->set('', '', 0);
        return $stored;
    }

    /** @return mixed */
    public function unpack(string $stored, string $serializer, string $compression)
    {
        // phpredis 5.3 hands json_decode a buffer without its closing NUL where it has uncompressed it: it fails now and then.
        $json = $serializer === 'json' && $compression !== '';
        $this->set($json ? '' : $serializer, $compression, 0);
        $value = $this->redis->_unpack($stored);
        $this->set('', '', 0);
        if ($json) {
            return json_decode($value, true, 512, JSON_THROW_ON_ERROR);
        }
        return $serializer === 'msgpack' ? msgpack_unpack($value) : $value;
    }

    /** Sets the options of a form that this phpredis knows. */
    public function choose(string $form): void
    {
        $words = explode('+', $form);
        $compression = isset(self::COMPRESSIONS[end($words)]) ? end($words) : '';
        $this->set(isset(self::SERIALIZERS[$words[0]]) ? $words[0] : '', $compression, 0);
    }

    private function set(string $serializer, string $compression, int $level): void
    {
        $this->redis->setOption(\Redis::OPT_SERIALIZER, self::SERIALIZERS[$serializer] ?? \Redis::SERIALIZER_NONE);
        $this->redis->setOption(\Redis::OPT_COMPRESSION, self::COMPRESSIONS[$compression] ?? \Redis::COMPRESSION_NONE);
        $this->redis->setOption(\Redis::OPT_COMPRESSION_LEVEL, $level);
    }
}
