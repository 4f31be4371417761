<?php

// A fatal error that no catch sees.
trigger_error('out of paper', E_USER_ERROR);
