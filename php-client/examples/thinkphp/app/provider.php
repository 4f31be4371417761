<?php

// What the container makes by itself, beside what stands there already.

declare(strict_types=1);

use Sidecar\Producer;

return [
    Producer::class => static function (): Producer {
        return Producer::to(getenv('REDIS_URL') ?: 'redis://127.0.0.1:6379/0?prefix=shop:');
    },
];
