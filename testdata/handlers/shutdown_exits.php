<?php

// Looks done, and exits in a shutdown function.
register_shutdown_function(static function (): void {
    exit(1);
});
echo 'success';
