<?php

// Dies with a message, which FPM passes on with status 200.
die('no stock left');
