<?php

// Shows what a handler can read about its job and its place.
$seen = ['cwd' => getcwd(), 'file' => __FILE__, 'cookies' => $_COOKIE, 'bridge' => getenv('SIDECAR_BRIDGE')];
foreach ($_SERVER as $name => $value) {
    if (strncmp($name, 'SIDECAR_', 8) === 0 || in_array($name, ['SCRIPT_FILENAME', 'DOCUMENT_ROOT', 'REQUEST_METHOD'], true)) {
        $seen[$name] = $value;
    }
}
echo json_encode($seen);
