<?php

// Sends 60 KB of headers before it succeeds.
for ($i = 0; $i < 120; $i++) {
    header('X-Debug-' . $i . ': ' . str_repeat(chr(97 + $i % 26), 500));
}
echo 'success';
