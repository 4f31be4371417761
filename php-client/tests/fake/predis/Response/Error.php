<?php

declare(strict_types=1);

namespace Predis\Response;

class Error implements ErrorInterface
{
    /** @var string */
    private $message;

    public function __construct(string $message)
    {
        $this->message = $message;
    }

    public function getMessage()
    {
        return $this->message;
    }
}
