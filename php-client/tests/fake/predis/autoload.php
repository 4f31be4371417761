<?php

declare(strict_types=1);

// Stands in for Predis, which is not installed with these tests: of its interface what the producer uses, with the
// same names, arguments, exceptions and prefixes.
\spl_autoload_register(static function (string $class): void {
    if (\strncmp($class, 'Predis\\', 7) === 0) {
        require __DIR__ . '/' . \str_replace('\\', '/', \substr($class, 7)) . '.php';
    }
});
