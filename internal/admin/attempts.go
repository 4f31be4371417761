package admin

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// The brake on whoever tries tokens: some mistakes are free, then each costs twice the time of the one before.
const (
	attemptsFree = 3
	attemptsMost = 1024 // addresses that are remembered
	waitFirst    = time.Second
	waitMost     = time.Minute
)

// attempts counts wrong tokens by the address that they came from.
type attempts struct {
	mu   sync.Mutex
	from map[string]*attempt // guarded by mu
}

type attempt struct {
	wrong int
	last  time.Time
}

func newAttempts() *attempts { return &attempts{from: make(map[string]*attempt)} }

// wait returns how long that address has to wait before a token of it is looked at.
func (a *attempts) wait(address string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.from[address]
	if found == nil || found.wrong < attemptsFree {
		return 0
	}
	wait := waitMost
	if doubled := found.wrong - attemptsFree; doubled < 6 {
		wait = waitFirst << doubled
	}
	return max(0, wait-time.Since(found.last))
}

// fail notes a wrong token.
func (a *attempts) fail(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.from[address]
	if found == nil {
		a.makeRoom()
		found = &attempt{}
		a.from[address] = found
	}
	found.wrong++
	found.last = time.Now()
}

// forget notes the right one.
func (a *attempts) forget(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.from, address)
}

// makeRoom forgets the address that was heard of least lately, where there are too many. a.mu is held.
func (a *attempts) makeRoom() {
	if len(a.from) < attemptsMost {
		return
	}
	oldest := ""
	for address, found := range a.from {
		if oldest == "" || found.last.Before(a.from[oldest].last) {
			oldest = address
		}
	}
	delete(a.from, oldest)
}

// callerOf returns whom mistakes are counted against: an address, of IPv6 the network of 64 bits that one customer has.
func callerOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return "unix"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String()
	}
	network, _ := ip.WithZone("").Prefix(64) // it has 128 bits
	return network.String()
}
