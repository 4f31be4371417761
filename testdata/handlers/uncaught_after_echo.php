<?php

// Throws when part of the answer is written.
echo 'success';
throw new RuntimeException('database gone');
