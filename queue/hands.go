package queue

import (
	"slices"
	"sync"
)

// hands are the claims of a topic that this process holds, whichever flow took them, that of an earlier generation
// included, and those that it may hold without knowing.
type hands struct {
	replies lostReplies

	mu      sync.Mutex
	keepers []*Keeper // guarded by mu
}

func (h *hands) add(k *Keeper) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keepers = append(h.keepers, k)
}

func (h *hands) remove(k *Keeper) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// A new slice: strangers and inHand go through the old one without the lock.
	h.keepers = slices.DeleteFunc(slices.Clone(h.keepers), func(have *Keeper) bool { return have == k })
}

// strangers returns those of claims whose text is in nobody's hands here.
func (h *hands) strangers(claims []Claim) []Claim {
	h.mu.Lock()
	keepers := h.keepers
	h.mu.Unlock()
	for _, k := range keepers {
		claims = k.strangers(claims)
	}
	return claims
}

// inHand counts them.
func (h *hands) inHand() int {
	h.mu.Lock()
	keepers := h.keepers
	h.mu.Unlock()
	n := 0
	for _, k := range keepers {
		n += k.inHand()
	}
	return n
}
