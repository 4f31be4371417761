<?php

declare(strict_types=1);

namespace Sidecar\Wire;

/**
 * One file of vectors: blocks of "key: value" lines with an empty line between them. A value that does not fit on a
 * line as it is says how it stands there: "key (json): value", or "key (base64): value" where it is no UTF-8.
 */
final class VectorFile
{
    /** @var string[] */
    private $blocks = [];

    /** @param array<string, string|int> $values */
    public function add(array $values): void
    {
        $lines = [];
        foreach ($values as $key => $value) {
            $lines[] = self::line($key, (string) $value);
        }
        $this->blocks[] = implode("\n", $lines) . "\n";
    }

    public function render(string $about): string
    {
        $head = "# $about\n# Made by make_vectors.php; not to be edited.\nvectors: " . count($this->blocks) . "\n\n";
        return $head . implode("\n", $this->blocks);
    }

    private static function line(string $key, string $value): string
    {
        if (preg_match('//u', $value) !== 1) {
            return "$key (base64): " . base64_encode($value);
        }
        if (trim($value) !== $value || preg_match('/[\x00-\x1f]/', $value) === 1) {
            return "$key (json): " . json_encode($value, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
        }
        return $value === '' ? "$key:" : "$key: $value";
    }
}
