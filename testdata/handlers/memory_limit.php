<?php

// Uses up its memory after the answer has begun.
echo 'success';
flush();
ini_set('memory_limit', '8M');
$all = '';
while (true) {
    $all .= str_repeat('x', 1 << 20);
}
