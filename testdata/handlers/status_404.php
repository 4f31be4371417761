<?php

// Answers 404 itself: the script was there.
http_response_code(404);
echo 'no such order';
