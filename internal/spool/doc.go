// Package spool brings in what PHP has stored in a table while Redis was away (php-client, Sidecar\Spool).
//
// Who may open that table and has a driver for it is PHP-FPM's user, so a file of ours (php-client/spool.php) reads
// and deletes there, and this package says what:
//
//	read the next rows, numbered ──► add their jobs and mark their rows, one step a key ──► delete the rows
//
// Any of that may happen again, or half, or twice at once: a process is killed, a reply is lost, two sidecars drain
// one table. Each row comes in once nevertheless. What makes it so is written down in docs/decisions/0019.
package spool
