<?php

declare(strict_types=1);

return [
    'default' => 'sqlite',
    'connections' => ['sqlite' => ['driver' => 'sqlite', 'database' => __DIR__ . '/../scratch/shop.sqlite', 'prefix' => '']],
    'redis' => [
        'client' => 'phpredis',
        'options' => ['prefix' => 'shop_database_'],
        'default' => ['host' => '127.0.0.1', 'port' => (int) parse_url((string) getenv('REDIS_URL'), PHP_URL_PORT)],
    ],
];
