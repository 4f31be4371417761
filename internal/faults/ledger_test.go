package faults

import "testing"

// ledger is what the job scripts wrote.
type ledger struct {
	t          testing.TB
	path, logs string
}

func newLedger(t testing.TB, path, logs string) *ledger { return &ledger{t: t, path: path, logs: logs} }
