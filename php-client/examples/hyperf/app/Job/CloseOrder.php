<?php

declare(strict_types=1);

namespace App\Job;

use Hyperf\AsyncQueue\Job;
use Hyperf\Database\Model\ModelNotFoundException;
use Hyperf\DbConnection\Db;

/**
 * A job as the team has it: nothing in it knows of the sidecar.
 */
class CloseOrder extends Job
{
    public $params;

    public function __construct($params)
    {
        $this->params = $params;
    }

    public function handle()
    {
        $id = $this->params['order_id'];
        if (Db::update("update orders set status = 'closed' where id = ?", [$id]) === 0) {
            throw (new ModelNotFoundException())->setModel('App\Model\Order', [$id]);
        }
    }
}
