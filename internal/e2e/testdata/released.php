<?php
// The job script of one release. It notes which release each of its three files belongs to, in one write; what a
// worker keeps from an old one shows. LIB is from a file that the bootstrap includes.
usleep(1000);
file_put_contents($job['log'], sprintf("E %s\nrelease %s %s %s %s\n", $job['uuid'], $job['uuid'], BOOT, LIB, 'RELEASE'), FILE_APPEND);
