<?php

// What hyperf/hyperf-skeleton has there, without the scanned definitions.

declare(strict_types=1);

return Hyperf\Context\ApplicationContext::setContainer(new Hyperf\Di\Container());
