<?php

declare(strict_types=1);

return ['default_lang' => 'zh-cn'];
