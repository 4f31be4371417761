<?php

declare(strict_types=1);

namespace App\Job;

use Hyperf\AsyncQueue\Job;
use Hyperf\Context\ApplicationContext;
use Hyperf\Context\Context;
use Hyperf\Contract\TranslatorInterface;
use Hyperf\DbConnection\Db;

/**
 * Prints what it finds, and leaves something of everything.
 */
class LeavesTraces extends Job
{
    public $params;

    public function __construct($params)
    {
        $this->params = $params;
    }

    public function handle()
    {
        $translator = ApplicationContext::getContainer()->get(TranslatorInterface::class);
        echo json_encode([
            'user' => Context::get('user'),
            'locale' => $translator->getLocale(),
            'booted' => Context::get('booted'),
            'transactions' => Db::transactionLevel(),
        ]);
        Context::set('user', 7);
        $translator->setLocale('ja');
        Context::set('booted', 'again');
        if ($this->params['open']) {
            Db::beginTransaction();
            Db::update("update orders set status = 'lost' where id = 42");
        }
        if ($this->params['fail'] ?? false) {
            $this->missing();
        }
    }
}
