<?php

// Logs lines that look like headers, then succeeds.
for ($i = 0; $i < 3; $i++) {
    error_log("a\nStatus: 500\nb");
}
echo 'success';
