<?php

// A legacy script's way to say that all went well.
exit('success');
