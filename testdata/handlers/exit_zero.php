<?php

// Ends as old consumers end. FPM answers the same as to exit(1).
exit(0);
