<?php

/**
 * Boots Laravel as artisan does, without its HTTP kernel: bootstrap = "/srv/shop/sidecar/bootstrap.php"
 */

declare(strict_types=1);

use Illuminate\Contracts\Console\Kernel;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Symfony\Component\Debug\Exception\FatalThrowableError;

// PHP_SAPI is fpm-fcgi. With this, runningInConsole() says what it says under queue:work.
$_ENV['APP_RUNNING_IN_CONSOLE'] = $_SERVER['APP_RUNNING_IN_CONSOLE'] = 'true';

require __DIR__ . '/../vendor/autoload.php';

(static function (): void {
    $app = require __DIR__ . '/../bootstrap/app.php';
    $app->make(Kernel::class)->bootstrap();

    // Laravel's own handler answers with a page, and ends the request to do so. A job's failure is only reported.
    set_exception_handler(static function (Throwable $e) use ($app): void {
        $isOld = class_exists(FatalThrowableError::class); // up to Laravel 6 report() takes no Error
        $app->make(ExceptionHandler::class)->report($isOld && !$e instanceof Exception ? new FatalThrowableError($e) : $e);
    });
})();
