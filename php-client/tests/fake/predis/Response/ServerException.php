<?php

declare(strict_types=1);

namespace Predis\Response;

use Predis\PredisException;

class ServerException extends PredisException implements ErrorInterface
{
}
