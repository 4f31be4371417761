<?php

declare(strict_types=1);

namespace Sidecar\Tests\Support;

/**
 * What came back for one request.
 */
final class Reply
{
    private const SIGN = '/\nsidecar-verdict ([0-9a-f]{64}) ([A-Za-z0-9+\/=]+)\n/';

    /** @var string Header lines and body, as FPM sent them. */
    public $stdout = '';

    /** @var string */
    public $stderr = '';

    /** @var bool Whether END_REQUEST came. */
    public $ended = false;

    /** The content of the last valid sign, as the sidecar reads it; null if there is none. */
    public function verdict(string $nonce): ?array
    {
        $verdict = null;
        \preg_match_all(self::SIGN, $this->stdout, $signs, \PREG_SET_ORDER);
        foreach ($signs as [, $hash, $payload]) {
            $verdict = self::open($hash, $payload, $nonce) ?? $verdict;
        }
        return $verdict;
    }

    /** The content of a payload, if its hash was made with the nonce. */
    public static function open(string $hash, string $payload, string $nonce): ?array
    {
        if (!\hash_equals(\hash('sha256', $nonce . ':' . $payload), $hash)) {
            return null;
        }
        return \json_decode((string) \base64_decode($payload, true), true, 512, \JSON_THROW_ON_ERROR);
    }

    /** The body without the signs: the job's own output. */
    public function output(): string
    {
        return (string) \preg_replace(self::SIGN, '', \explode("\r\n\r\n", $this->stdout, 2)[1] ?? '');
    }

    public function status(): int
    {
        return \preg_match('/^Status: (\d+)/m', \explode("\r\n\r\n", $this->stdout, 2)[0], $found) === 1
            ? (int) $found[1]
            : 200;
    }
}
