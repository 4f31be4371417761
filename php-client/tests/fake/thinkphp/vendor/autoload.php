<?php

// Composer's part: the fake framework beside this file, the application, the package.

declare(strict_types=1);

foreach (glob(__DIR__ . '/think/*.php') as $framework) {
    require $framework;
}
require __DIR__ . '/sidecar/php-client/autoload.php';
spl_autoload_register(static function (string $class): void {
    $file = __DIR__ . '/../' . str_replace('\\', '/', $class) . '.php';
    if (strncmp($class, 'app\\', 4) === 0 && is_file($file)) {
        require $file;
    }
});
