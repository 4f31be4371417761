<?php

declare(strict_types=1);

return ['app_name' => 'shop', 'default_timezone' => 'Asia/Shanghai'];
