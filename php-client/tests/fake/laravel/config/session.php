<?php

declare(strict_types=1);

return ['driver' => 'array', 'cookie' => 'shop', 'lifetime' => 120, 'path' => '/', 'domain' => null, 'secure' => false];
