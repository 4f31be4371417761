<?php

// Has this machine's phpredis write and read texts in every form. Lines on stdin, lines on stdout, all bytes in base64.
//
//   php phpredis.php pack      TEXT          becomes, once for each form, FORM STORED
//   php phpredis.php unpack    FORM STORED   becomes TEXT, or "no text"

declare(strict_types=1);

namespace Sidecar\Wire;

foreach (['VectorFile', 'PrivateRedis', 'Encodings'] as $class) {
    require __DIR__ . "/php/$class.php";
}

$server = new PrivateRedis();
try {
    $encodings = new Encodings($server->client());
    $forms = [];
    foreach (Encodings::forms() as $form) {
        $forms[Encodings::form(...$form)] = $form;
    }
    while (($line = fgets(STDIN)) !== false) {
        $words = explode(' ', rtrim($line, "\n"));
        if ($argv[1] === 'unpack') {
            $text = $encodings->unpack(base64_decode($words[1]), ...$forms[$words[0]] ?? ['', '']); // plain
            echo is_string($text) ? base64_encode($text) : 'no text', "\n";
            continue;
        }
        foreach ($forms as $name => $form) {
            echo $name, ' ', base64_encode($encodings->pack(base64_decode($words[0]), ...$form)), "\n";
        }
    }
} finally {
    $server->stop();
}
