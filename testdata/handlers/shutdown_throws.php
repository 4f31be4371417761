<?php

// Looks done, and throws in a shutdown function.
register_shutdown_function(static function (): void {
    throw new RuntimeException('commit failed');
});
echo 'success';
