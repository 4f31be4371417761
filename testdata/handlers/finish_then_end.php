<?php

// Answers early, goes on a little and ends well.
echo 'success';
fastcgi_finish_request();
usleep(30000);
