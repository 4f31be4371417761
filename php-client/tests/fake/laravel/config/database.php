<?php

declare(strict_types=1);

return [
    'default' => 'sqlite',
    'connections' => ['sqlite' => ['driver' => 'sqlite', 'database' => __DIR__ . '/../scratch/shop.sqlite', 'prefix' => '']],
    'redis' => [
        'client' => 'phpredis',
        'options' => ['prefix' => 'shop_database_'],
        'default' => ['host' => preg_replace('#^unix://|\?.*$#', '', (string) getenv('REDIS_URL')), 'port' => 0],
    ],
];
