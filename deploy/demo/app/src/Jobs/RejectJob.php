<?php

declare(strict_types=1);

namespace Shop\Jobs;

/** "Never again": the sidecar goes by the short name of the class, so it needs no package. */
final class RejectJob extends \RuntimeException
{
}
