<?php

declare(strict_types=1);

namespace Predis\Connection;

use Predis\PredisException;

class ConnectionException extends PredisException
{
}
