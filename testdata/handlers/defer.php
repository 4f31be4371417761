<?php

// Asks for another time.
final class DeferJob extends RuntimeException
{
    public $delay = 90;
}

throw new DeferJob('shop is closed');
