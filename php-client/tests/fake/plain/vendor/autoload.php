<?php

// Composer's part: the application and the package. The database's name comes from the pool's environment elsewhere.

declare(strict_types=1);

putenv('SHOP_DSN=sqlite:' . __DIR__ . '/../scratch/shop.sqlite');
require __DIR__ . '/sidecar/php-client/autoload.php';
spl_autoload_register(static function (string $class): void {
    $file = __DIR__ . '/../' . str_replace(['App\\', '\\'], ['src/', '/'], $class) . '.php';
    if (strncmp($class, 'App\\', 4) === 0 && is_file($file)) {
        require $file;
    }
});
