<?php

declare(strict_types=1);

namespace App\Jobs;

use App\Cart;
use Illuminate\Auth\GenericUser;
use Illuminate\Container\Container;
use Illuminate\Support\Facades\App;
use Illuminate\Support\Facades\Auth;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Log;

/**
 * Prints what it finds, and leaves something of everything.
 */
class LeavesTraces
{
    private $open;

    private $behind;

    /** @param bool $behind whether the transaction is ended behind Laravel's back, as a lost connection does */
    public function __construct(bool $open, bool $behind)
    {
        $this->open = $open;
        $this->behind = $behind;
    }

    public function handle(): void
    {
        $app = Container::getInstance();
        if (!$app->bound(Cart::class)) {
            $app->scoped(Cart::class);
        }
        echo json_encode([
            'user' => Auth::check() ? Auth::id() : null,
            'locale' => App::getLocale() . '/' . $app['translator']->getLocale(),
            'name' => $app['config']['app.name'],
            'cart' => $app->make(Cart::class)->items,
            'transactions' => DB::transactionLevel(),
        ]);
        Log::info('handled');
        Auth::setUser(new GenericUser(['id' => 7]));
        App::setLocale('ja');
        $app['config']->set('app.name', 'other shop');
        $app->make(Cart::class)->items[] = 'book';
        Log::withContext(['order' => 'order-42']);
        if ($this->open) {
            DB::beginTransaction();
            DB::update("update orders set status = 'lost' where id = 42");
        }
        if ($this->behind) {
            DB::connection()->getPdo()->rollBack();
        }
    }
}
