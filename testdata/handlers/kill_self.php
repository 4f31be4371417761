<?php

// Its child is killed in the middle of the answer.
echo 'success';
flush();
posix_kill(getmypid(), 9);
sleep(5);
