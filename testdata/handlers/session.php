<?php

// Behaves like a web request with a session.
session_start();
$_SESSION['seen'] = true;
usleep(300000);
echo 'success';
