<?php

declare(strict_types=1);

return [
    'default' => 'single',
    'channels' => ['single' => ['driver' => 'single', 'path' => __DIR__ . '/../scratch/shop.log']],
];
