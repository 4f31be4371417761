<?php

// Prints $job['megabytes'] and succeeds.
$line = str_repeat('0123456789abcdef', 4096);
for ($i = 0; $i < $job['megabytes'] * 16; $i++) {
    echo $line;
}
