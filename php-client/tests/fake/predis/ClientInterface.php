<?php

declare(strict_types=1);

namespace Predis;

interface ClientInterface
{
    /**
     * @param string $method
     * @param array  $arguments
     *
     * @return mixed
     */
    public function __call($method, $arguments);
}
