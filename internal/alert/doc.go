// Package alert tells people of what the sidecar sees, without a Prometheus: rules over what one look at Redis,
// PHP-FPM and the topics found (Snapshot), and messages to the robots of DingTalk, WeCom and Feishu, or as JSON.
//
// What fires is shared by all sidecars of one Redis through a Ledger: who has seen it, who was told and when. Nothing is
// queued in memory: what a target has not been told yet is in the ledger, so that several alarms of one moment become one
// message, a receiver that is away costs nothing but messages that are late, and neither a restart nor a second sidecar
// says anything twice. Only Redis's own absence is each sidecar's own knowledge, kept in its Memory.
//
//	Snapshot ──Rule.judge──► verdict ──for, recover_after──► step ──► Ledger ──due──► courier ──► target
package alert
