<?php

declare(strict_types=1);

namespace App;

use PDO;
use PDOException;

/**
 * What a connection is after the server has closed it.
 */
final class LostConnection extends PDO
{
    #[\ReturnTypeWillChange]
    public function query($query, ...$mode)
    {
        trigger_error('PDO::query(): MySQL server has gone away', E_USER_WARNING);
        throw new PDOException('SQLSTATE[HY000]: General error: 2006 MySQL server has gone away');
    }
}
