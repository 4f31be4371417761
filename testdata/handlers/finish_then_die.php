<?php

// Answers early, then its child dies.
echo 'success';
fastcgi_finish_request();
posix_kill(getmypid(), 9);
