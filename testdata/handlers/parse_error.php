<?php

// Does not compile.
echo 'success'
$x = ;
