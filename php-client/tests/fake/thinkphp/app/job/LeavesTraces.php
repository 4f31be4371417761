<?php

declare(strict_types=1);

namespace app\job;

use think\Container;
use think\facade\Db;
use think\facade\Lang;
use think\facade\Log;

/**
 * Prints what it finds, and leaves something of everything.
 */
class LeavesTraces
{
    private $seen = 0;

    public function handle(array $job): void
    {
        $app = Container::getInstance();
        $pdo = Db::connect()->getPdo();
        echo json_encode([
            'seen' => $this->seen++,
            'user' => $app->request->user,
            'language' => Lang::getLangSet(),
            'name' => $app->config->get('app')['app_name'],
            'transaction' => $pdo && $pdo->inTransaction(),
        ]);
        Log::info('handled');
        $app->request->user = 7;
        Lang::setLangSet('en-us');
        $app->config->set(['app_name' => 'other shop'], 'app');
        Db::execute('select 1');
        foreach (array_fill(0, $job['open'], null) as $ignored) {
            Db::startTrans();
            Db::execute("update orders set status = 'lost' where id = 42");
        }
        if ($job['commit'] ?? false) {
            Db::startTrans();
            Db::execute("update orders set status = 'kept' where id = 43");
            Db::commit();
        }
        if ($job['fail'] ?? false) {
            $this->missing();
        }
    }
}
