<?php

declare(strict_types=1);

namespace Sidecar\Wire;

/** Jobs, errors and byte strings at random, the same ones for the same seed. */
final class RandomJobs
{
    private const PIECES = [
        'a', 'order', ' ', '/', '\\', '"', "'", '<b>', '&', "\n", "\t", "\r", "\x08", "\x0c", "\x00", "\x1f", "\x7f",
        'é', '订单超时', '😀', "\u{2028}", "\u{2029}", "\u{2027}", "\u{FEFF}", "\u{FFFD}", "\u{10FFFF}", '\u0041',
        '{}', '[]', '":',
    ];

    public function __construct(int $seed)
    {
        mt_srand($seed, MT_RAND_MT19937);
    }

    /** A job's text that PHP decodes and encodes again to the same bytes. */
    public function text(): string
    {
        do {
            $text = json_encode($this->job(), JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
        } while ($text[0] !== '{' || !OldConsumer::keeps($text));
        return $text;
    }

    public function string(int $pieces): string
    {
        $s = '';
        for ($n = mt_rand(0, $pieces); $n > 0; $n--) {
            $s .= self::PIECES[mt_rand(0, count(self::PIECES) - 1)];
        }
        return $s;
    }

    /** Bytes that are mostly no UTF-8, made of what begins and continues characters. */
    public function bytes(): string
    {
        $alphabet = "A\"\\/\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe2\xed\xef\xf0\xf1\xf4\xf5\xff\xa8";
        $s = '';
        for ($n = mt_rand(1, 8); $n > 0; $n--) {
            $s .= $alphabet[mt_rand(0, strlen($alphabet) - 1)];
        }
        return $s;
    }

    /** @return array<mixed> */
    private function job(): array
    {
        $fields = ['uuid' => $this->string(3), 'type' => 'order_timeout', 'body' => $this->value(3)];
        $known = ['retry' => $this->retry(), 'last_error' => $this->string(4), 'replayed_at' => '2024-05-01 08:00:00'];
        foreach ($known as $name => $value) {
            if (mt_rand(0, 2) === 0) {
                $fields[$name] = $value;
            }
        }
        for ($n = mt_rand(0, 4); $n > 0; $n--) {
            $fields[$this->string(3)] = $this->value(3);
        }
        $job = [];
        $names = array_keys($fields);
        for ($i = count($names) - 1; $i > 0; $i--) { // shuffle() would be as good, but is not promised to stay the same
            $k = mt_rand(0, $i);
            [$names[$i], $names[$k]] = [$names[$k], $names[$i]];
        }
        foreach ($names as $name) {
            $job[$name] = $fields[$name];
        }
        return $job;
    }

    /** @return mixed */
    private function retry()
    {
        $odd = [null, true, false, '2', '1e2', 'x', ' 3', -3, 2.7, [], [0], 99];
        return mt_rand(0, 3) > 0 ? mt_rand(0, 7) : $odd[mt_rand(0, count($odd) - 1)];
    }

    /** @return mixed */
    private function value(int $depth)
    {
        switch (mt_rand(0, $depth > 0 ? 9 : 6)) {
            case 0:
                return mt_rand(-1000, 1000);
            case 1:
                return [PHP_INT_MAX, PHP_INT_MIN, 130775545883395173, 0][mt_rand(0, 3)];
            case 2:
                return [0.1, 277.2, 1.5e300, -2.5e-7, 0.46, 1732900000123.4567][mt_rand(0, 5)];
            case 3:
                return [null, true, false][mt_rand(0, 2)];
            case 4:
            case 5:
            case 6:
                return $this->string(6);
            case 7:
                return [];
            case 8:
                return array_map(function () use ($depth) {
                    return $this->value($depth - 1);
                }, array_fill(0, mt_rand(1, 4), 0));
        }
        $map = [];
        for ($n = mt_rand(1, 4); $n > 0; $n--) {
            $map[$this->string(2)] = $this->value($depth - 1);
        }
        return $map;
    }
}
