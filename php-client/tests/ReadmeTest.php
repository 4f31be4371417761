<?php

declare(strict_types=1);

namespace Sidecar\Tests;

/**
 * The README's own lines about the producer run, and the files it names are there.
 */
final class ReadmeTest extends RedisTestCase
{
    public function testItsFirstExampleRuns(): void
    {
        $found = \preg_match('/^## The producer$.*?^```php\n(.*?)^```$/ms', self::readme(), $block);
        self::assertSame(1, $found);
        $code = \str_replace('redis://127.0.0.1:6379', self::server()->url(), $block[1]) . ' return $uuid;';
        $uuid = eval($code);
        self::assertSame(
            ['delay:pool:order_timeout' => ['{"order_id":4567,"uuid":"' . $uuid . '"}']],
            $this->content()
        );
    }

    public function testTheFilesItNamesAreThere(): void
    {
        \preg_match_all('/\]\(([^)#]+)\)/', self::readme(), $links);
        self::assertContains('examples/producer.php', $links[1]);
        foreach ($links[1] as $link) {
            self::assertFileExists(__DIR__ . '/../' . $link);
        }
    }

    public function testItNamesEveryOption(): void
    {
        $options = \array_keys((new \ReflectionClassConstant(\Sidecar\Options::class, 'DEFAULTS'))->getValue());
        foreach ($options as $option) {
            self::assertMatchesRegularExpression('/^\|[^|]*`' . $option . '`/m', self::readme());
        }
    }

    private static function readme(): string
    {
        return (string) \file_get_contents(__DIR__ . '/../README.md');
    }
}
