<?php

/**
 * Boots Hyperf without a server and without coroutines: bootstrap = "/srv/shop/sidecar/bootstrap.php"
 */

declare(strict_types=1);

use Hyperf\Contract\ApplicationInterface;
use Hyperf\Di\ClassLoader;
use Hyperf\Di\ScanHandler\NullScanHandler;
use Hyperf\Logger\LoggerFactory;

defined('BASE_PATH') || define('BASE_PATH', dirname(__DIR__));
defined('SWOOLE_HOOK_FLAGS') || define('SWOOLE_HOOK_FLAGS', 0);

if (!is_file(BASE_PATH . '/runtime/container/scan.cache')) {
    // Without it Hyperf would run, with no annotation in effect. Without an autoloader the topic waits: no job fails.
    error_log('there is no runtime/container/scan.cache: run php bin/hyperf.php at each deploy');
    return;
}

require BASE_PATH . '/vendor/autoload.php';

(static function (): void {
    ClassLoader::init(null, null, new NullScanHandler()); // the usual scan forks; it belongs to the deploy
    $container = require BASE_PATH . '/config/container.php';
    $container->get(ApplicationInterface::class); // its making boots the listeners: models find their connections then

    set_exception_handler(static function (Throwable $e) use ($container): void {
        $container->get(LoggerFactory::class)->get('sidecar')->error((string) $e);
    });
})();
