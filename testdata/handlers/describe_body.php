<?php

// Says how much of the job arrived.
$body = file_get_contents('php://input');
echo strlen($body), ' ', md5($body), ' ', $_SERVER['CONTENT_LENGTH'];
