<?php

// Treats missing data as nothing to do.
$data = json_decode(file_get_contents('php://input'), true);
echo is_array($data) ? 'success ' . strlen($data['payload']) : 'nothing to do';
