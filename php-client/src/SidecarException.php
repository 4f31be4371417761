<?php

declare(strict_types=1);

namespace Sidecar;

/**
 * Everything this package throws is one.
 */
interface SidecarException extends \Throwable
{
}
