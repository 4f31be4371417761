<?php

// Logs more than anyone reads.
for ($i = 0; $i < 3000; $i++) {
    error_log($i . ' ' . str_repeat('e', 500));
}
error_log('the last line');
throw new RuntimeException('after much ado');
