// Package phpclient carries bridge.php, the PHP side of a run, spool.php, that of a spool's drain, and doctor.php, that of a
// look at the setting, inside the binary.
package phpclient

import _ "embed"

// Bridge is the text of bridge.php. The sidecar writes it to where PHP-FPM can
// read it, under a name made from its content, so that a new binary never runs
// an old bridge.
//
//go:embed bridge.php
var Bridge []byte

// Spool is the text of spool.php, written like the bridge.
//
//go:embed spool.php
var Spool []byte

// Doctor is the text of doctor.php, through which the doctor sees what PHP sees; written like the bridge.
//
//go:embed doctor.php
var Doctor []byte
