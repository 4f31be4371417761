<?php

// Composer's part: the framework (the fake one beside this file, or a real one), the application, the package.

declare(strict_types=1);

$real = __DIR__ . '/real.php';
foreach (is_file($real) ? [$real] : glob(__DIR__ . '/laravel/*.php') as $framework) {
    require $framework;
}
require __DIR__ . '/sidecar/php-client/autoload.php';
spl_autoload_register(static function (string $class): void {
    $file = __DIR__ . '/../' . str_replace(['App\\', '\\'], ['app/', '/'], $class) . '.php';
    if (strncmp($class, 'App\\', 4) === 0 && is_file($file)) {
        require $file;
    }
});
