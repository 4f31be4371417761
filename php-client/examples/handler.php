<?php

// A handler that says more than "done" and "failed": script = "/srv/shop/jobs/send_sms.php".
//
// Classes RejectJob and DeferJob of your own do as well: the sidecar goes by their names.

declare(strict_types=1);

require_once __DIR__ . '/../autoload.php'; // with Composer: vendor/autoload.php

use Sidecar\DeferJob;
use Sidecar\RejectJob;

return static function (array $job): void {
    $phone = $job['payload']['phone'] ?? '';
    if (\preg_match('/^\d+$/D', $phone) !== 1) {
        throw RejectJob::because('no phone number'); // never again: to dead at once
    }
    if ($phone === '0') { // say, the provider asks for patience
        throw DeferJob::by(90, 'provider is busy'); // later, and no try is counted
    }
    echo 'sent';
};
