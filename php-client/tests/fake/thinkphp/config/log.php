<?php

declare(strict_types=1);

return ['path' => __DIR__ . '/../scratch/shop.log'];
