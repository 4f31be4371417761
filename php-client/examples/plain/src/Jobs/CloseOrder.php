<?php

declare(strict_types=1);

namespace App\Jobs;

use App\Database;
use OutOfBoundsException;

/**
 * A job as the team has it: nothing in it knows of the sidecar.
 */
class CloseOrder
{
    public function handle(array $job): void
    {
        $close = Database::connection()->prepare("update orders set status = 'closed' where id = ?");
        $close->execute([$job['order_id']]);
        if ($close->rowCount() === 0) {
            throw new OutOfBoundsException('no order ' . $job['order_id']);
        }
    }
}
