<?php

declare(strict_types=1);

namespace App\Jobs;

use Illuminate\Bus\Queueable;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Database\DatabaseManager;
use Illuminate\Database\Eloquent\ModelNotFoundException;
use Illuminate\Foundation\Bus\Dispatchable;
use Illuminate\Queue\InteractsWithQueue;
use Illuminate\Queue\SerializesModels;

/**
 * A job as the team has it: nothing in it knows of the sidecar.
 */
class CloseOrder implements ShouldQueue
{
    use Dispatchable;
    use InteractsWithQueue;
    use Queueable;
    use SerializesModels;

    private $orderId;

    public function __construct(int $orderId)
    {
        $this->orderId = $orderId;
    }

    public function handle(DatabaseManager $db): void
    {
        if ($db->update("update orders set status = 'closed' where id = ?", [$this->orderId]) === 0) {
            throw (new ModelNotFoundException())->setModel('App\Order', [$this->orderId]);
        }
    }
}
