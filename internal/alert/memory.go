package alert

import (
	"context"
	"maps"
	"sync"
	"time"

	"sidecar/queue"
)

// Ledger is where alarms are kept: shared ones in Redis (queue.Alerts), this process's own in its Memory.
type Ledger interface {
	// Now returns the time by the ledger's clock.
	Now(ctx context.Context) (time.Time, error)
	// Read returns the fields of a hash.
	Read(ctx context.Context, key queue.AlertKey) (map[string]string, error)
	// Swap changes a field if it still is as it was read, "" being none, and reports whether it was.
	Swap(ctx context.Context, key queue.AlertKey, field, read, next string) (bool, error)
}

var (
	_ Ledger = (*queue.Alerts)(nil)
	_ Ledger = (*Memory)(nil)
)

// Memory is a Ledger of this process alone.
type Memory struct {
	now func() time.Time

	mu     sync.Mutex
	hashes map[queue.AlertKey]map[string]string // guarded by mu
}

// NewMemory returns an empty Memory with now for its clock.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, hashes: make(map[queue.AlertKey]map[string]string)}
}

// Now returns the time.
func (m *Memory) Now(context.Context) (time.Time, error) { return m.now(), nil }

// Read returns the fields of a hash.
func (m *Memory) Read(_ context.Context, key queue.AlertKey) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.hashes[key]), nil
}

// Swap changes a field if it still is as it was read.
func (m *Memory) Swap(_ context.Context, key queue.AlertKey, field, read, next string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	hash := m.hashes[key]
	if hash == nil {
		hash = make(map[string]string)
		m.hashes[key] = hash
	}
	if hash[field] != read {
		return false, nil
	}
	if next == "" {
		delete(hash, field)
	} else {
		hash[field] = next
	}
	return true, nil
}
