<?php

declare(strict_types=1);

namespace Predis\Response;

interface ErrorInterface
{
    /** @return string */
    public function getMessage();
}
