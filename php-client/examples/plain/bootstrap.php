<?php

/**
 * What the shop needs before any of its code runs: bootstrap = "/srv/shop/bootstrap.php"
 */

declare(strict_types=1);

require __DIR__ . '/vendor/autoload.php';

date_default_timezone_set('Asia/Shanghai');
