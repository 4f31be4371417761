<?php

// Returns false, which old workers ignore.
return false;
