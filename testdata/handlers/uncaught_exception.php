<?php

// Throws at once.
throw new RuntimeException('database gone');
