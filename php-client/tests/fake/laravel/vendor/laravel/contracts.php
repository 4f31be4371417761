<?php

/**
 * FAKE of Laravel: what the application asks the container for. See README.md.
 */

declare(strict_types=1);

namespace Illuminate\Contracts\Console {

    interface Kernel
    {
        public function bootstrap();
    }
}

namespace Illuminate\Contracts\Debug {

    interface ExceptionHandler
    {
        public function report(\Throwable $e);
    }
}

namespace Illuminate\Contracts\Bus {

    interface Dispatcher
    {
        public function dispatchNow($command, $handler = null);
    }
}

namespace Illuminate\Contracts\Queue {

    interface Job
    {
        public function attempts();

        public function fail($e = null);

        public function release($delay = 0);
    }

    interface ShouldQueue
    {
    }
}
