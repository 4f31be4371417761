<?php

/**
 * A script as the team has it: $job is there, and it runs from its first line to its last.
 */

declare(strict_types=1);

use App\Database;

require_once __DIR__ . '/../bootstrap.php';

Database::connection()
    ->prepare("update orders set status = 'reminded' where id = ? and status = 'open'")
    ->execute([$job['order_id']]);
