<?php

/**
 * FAKE of Laravel: the bus, and the queue's side of a job. See README.md.
 */

declare(strict_types=1);

namespace Illuminate\Foundation\Bus {

    trait Dispatchable
    {
    }
}

namespace Illuminate\Bus {

    use Illuminate\Container\Container;

    trait Queueable
    {
        public $delay;
    }

    class Dispatcher implements \Illuminate\Contracts\Bus\Dispatcher
    {
        private $container;

        public function __construct(Container $container)
        {
            $this->container = $container;
        }

        public function dispatchNow($command, $handler = null)
        {
            return $this->container->call([$command, 'handle']);
        }
    }
}

namespace Illuminate\Queue {

    trait SerializesModels
    {
    }

    trait InteractsWithQueue
    {
        public $job;

        public function attempts()
        {
            return $this->job ? $this->job->attempts() : 1;
        }

        public function fail($exception = null)
        {
            $this->job and $this->job->fail($exception);
        }

        public function release($delay = 0)
        {
            $this->job and $this->job->release($delay);
        }

        public function setJob(\Illuminate\Contracts\Queue\Job $job)
        {
            $this->job = $job;
            return $this;
        }
    }
}

namespace Illuminate\Queue\Jobs {

    use Illuminate\Container\Container;

    abstract class Job
    {
        private $failed = false;

        private $released = false;

        public function release($delay = 0)
        {
            $this->released = true;
        }

        public function isReleased()
        {
            return $this->released;
        }

        public function fail($e = null)
        {
            $this->failed = true;
            $this->failed($e);
        }

        public function hasFailed()
        {
            return $this->failed;
        }

        protected function failed($e)
        {
        }
    }

    class SyncJob extends Job implements \Illuminate\Contracts\Queue\Job
    {
        public function __construct(Container $container, $payload, $connectionName, $queue)
        {
        }

        public function attempts()
        {
            return 1;
        }

        public function getJobId()
        {
            return '';
        }
    }
}
