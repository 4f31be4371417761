<?php

// Composer's part: the fake framework beside this file, the application, the package.

declare(strict_types=1);

foreach (glob(__DIR__ . '/hyperf/*.php') as $framework) {
    require $framework;
}
require __DIR__ . '/sidecar/php-client/autoload.php';
spl_autoload_register(static function (string $class): void {
    $file = BASE_PATH . '/' . str_replace(['App\\', '\\'], ['app/', '/'], $class) . '.php';
    if (strncmp($class, 'App\\', 4) === 0 && is_file($file)) {
        require $file;
    }
});
