<?php

declare(strict_types=1);

namespace Predis;

abstract class PredisException extends \Exception
{
}
