<?php

declare(strict_types=1);

namespace App\Providers;

use Illuminate\Support\Facades\Redis;
use Illuminate\Support\ServiceProvider;
use Sidecar\Producer;

/**
 * Named in config/app.php (from Laravel 11 on in bootstrap/providers.php).
 */
class SidecarServiceProvider extends ServiceProvider
{
    public function register()
    {
        $this->app->singleton(Producer::class, static function (): Producer {
            return Producer::to(static function () {
                return Redis::connection()->client(); // phpredis or Predis, with Laravel's prefix on it
            });
        });
    }
}
