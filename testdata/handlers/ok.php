<?php

// Does its work, says so, ends normally.
echo 'success';
