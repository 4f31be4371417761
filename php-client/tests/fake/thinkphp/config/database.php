<?php

declare(strict_types=1);

return [
    'default' => 'sqlite',
    'connections' => [
        'sqlite' => ['type' => 'sqlite', 'database' => __DIR__ . '/../scratch/shop.sqlite'],
        'archive' => ['type' => 'sqlite', 'database' => __DIR__ . '/../scratch/archive.sqlite'],
        'documents' => ['type' => 'mongo'],
    ],
];
