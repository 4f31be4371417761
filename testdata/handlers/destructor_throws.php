<?php

// Looks done, and throws when PHP cleans up.
final class HandlerThatBreaksLate
{
    public function __destruct()
    {
        throw new RuntimeException('commit failed');
    }
}

$unit = new HandlerThatBreaksLate();
echo 'success';
