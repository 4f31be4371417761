<?php

// A notice stands before the real answer where display_errors is on.
trigger_error('old function', E_USER_DEPRECATED);
echo '{"ok":true}';
