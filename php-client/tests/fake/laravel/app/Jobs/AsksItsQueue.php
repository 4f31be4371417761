<?php

declare(strict_types=1);

namespace App\Jobs;

use DateInterval;
use DateTimeImmutable;
use Illuminate\Bus\Queueable;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Queue\InteractsWithQueue;
use RuntimeException;

class AsksItsQueue implements ShouldQueue
{
    use InteractsWithQueue;
    use Queueable;

    private $what;

    public function __construct(string $what)
    {
        $this->what = $what;
    }

    public function handle(): void
    {
        switch ($this->what) {
            case 'attempts':
                echo $this->attempts();
                break;
            case 'release':
                $this->release(90);
                break;
            case 'release at':
                $this->release((new DateTimeImmutable())->add(new DateInterval('PT1H')));
                break;
            case 'release soon':
                $this->release();
                break;
            case 'fail':
                $this->fail(new RuntimeException('the shop is closed'));
                break;
            case 'error':
                $this->missing();
        }
    }

    public function failed($e): void
    {
        echo 'told: ', $e->getMessage();
    }
}
