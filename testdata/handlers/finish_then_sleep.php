<?php

// Answers early and keeps its child busy.
echo 'success';
fastcgi_finish_request();
sleep(30);
