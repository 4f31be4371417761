<?php

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    if (strpos($class, 'Shop\\') === 0) {
        require __DIR__ . '/src/' . strtr(substr($class, 5), '\\', '/') . '.php';
    }
});
