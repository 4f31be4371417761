<?php

// Its child dies of a segmentation fault.
posix_kill(getmypid(), 11);
sleep(5);
