<?php

declare(strict_types=1);

return [
    'default' => [
        'driver' => 'sqlite',
        'database' => BASE_PATH . '/scratch/shop.sqlite',
        'pool' => ['max_connections' => 1],
    ],
];
