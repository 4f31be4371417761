<?php

declare(strict_types=1);

// For those without Composer: classes below Sidecar\ live in src/ (PSR-4).
\spl_autoload_register(static function (string $class): void {
    $file = __DIR__ . '/src/' . \str_replace('\\', '/', \substr($class, 8)) . '.php';
    if (\strncmp($class, 'Sidecar\\', 8) === 0 && \is_file($file)) {
        require $file;
    }
});
