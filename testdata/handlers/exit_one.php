<?php

// Signals failure as on the command line. FPM answers 200: the exit code is lost.
exit(1);
