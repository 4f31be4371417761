<?php

declare(strict_types=1);

namespace Sidecar\Tests\Connection;

use Sidecar\Connection\Url;
use Sidecar\Tests\RedisTestCase;
use Sidecar\Tests\Support\RedisServer;

final class UrlTest extends RedisTestCase
{
    /**
     * @dataProvider urls
     */
    public function testItNamesTheServerWithoutItsSecrets(string $url, string $server): void
    {
        self::assertSame($server, (new Url($url))->server());
    }

    public static function urls(): array
    {
        return [
            ['redis://localhost', 'localhost:6379'],
            ['redis://user:secret@10.0.0.1:6380/2?prefix=a:', '10.0.0.1:6380'],
            ['rediss://cache.example.com', 'tls://cache.example.com:6379'],
            ['tls://cache.example.com:1', 'tls://cache.example.com:1'],
            ['redis://[::1]:7000', '::1:7000'],
            ['unix:///run/redis%20.sock?db=3', '/run/redis .sock'],
        ];
    }

    public function testDatabaseAndPrefixAreTheUrls(): void
    {
        $redis = (new Url(self::server()->url('db=3&prefix=shop:')))->connect(5.0, 5.0);
        $redis->set('k', 'v');
        $this->redis->select(3);
        self::assertSame(['shop:k'], $this->redis->keys('*'));
        self::assertSame(5.0, (float) $redis->getReadTimeout());
    }

    public function testItLogsIn(): void
    {
        $server = new RedisServer();
        try {
            $admin = $server->client();
            $admin->config('SET', 'requirepass', 's:e/c%t');
            $admin->auth('s:e/c%t');
            $admin->rawCommand('ACL', 'SETUSER', 'shop', 'on', '>p@ss', '~*', '+@all');
            foreach ([':' . \rawurlencode('s:e/c%t'), 'shop:' . \rawurlencode('p@ss')] as $login) {
                // parse_url() takes user and password where there is a host
                $url = 'unix://' . $login . '@socket' . $server->socket();
                self::assertSame('v', self::roundTrip((new Url($url))->connect(5.0, 5.0)));
            }
        } finally {
            $server->remove();
        }
    }

    private static function roundTrip(\Redis $redis): string
    {
        $redis->set('k', 'v');
        return $redis->get('k');
    }
}
