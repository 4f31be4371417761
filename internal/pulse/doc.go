// Package pulse knows what happened in the last hour, on all sidecars together.
//
// Every ten seconds it takes what the process's own metrics have counted since the last look, adds it to the minute that is
// under way, and says to the other sidecars that this one lives. A minute that is over is published in Redis, where those of
// the others are read: so each sidecar knows them all, and one that has just started knows the hour before.
//
// Runs pay nothing for it: the metrics are counted anyway.
package pulse
