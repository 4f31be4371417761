<?php

// Fails by HTTP status.
http_response_code(500);
echo 'success';
