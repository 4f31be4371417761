<?php

/**
 * Boots ThinkPHP as its command line does, without its HTTP kernel: bootstrap = "/srv/shop/sidecar/bootstrap.php"
 */

declare(strict_types=1);

use think\App;
use think\exception\Handle;

require __DIR__ . '/../vendor/autoload.php';

(static function (): void {
    $app = new App(dirname(__DIR__)); // ThinkPHP 6 and 8; what 5.1 has instead stands in docs/frameworks.md
    ob_start(); // outside of the command line it closes one output buffer and opens one: this, not the bridge's
    $app->initialize();
    ob_end_flush();

    // ThinkPHP's own handler answers with a page, and ends the request to do so. A job's failure is only reported.
    set_exception_handler(static function (Throwable $e) use ($app): void {
        $app->make(Handle::class)->report($e);
        $app->log->save();
    });
})();
