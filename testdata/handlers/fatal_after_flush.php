<?php

// The answer is out before the fatal error comes: status 200 stays.
echo 'success';
flush();
undefined_function();
