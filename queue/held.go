package queue

import (
	"time"

	"sidecar/compat"
	"sidecar/compat/encoding"
)

// held is one claim in this process's hands, from the reply of the claim to its settlement.
type held struct {
	text string        // its entry of running: in profile list with the claim's id
	body string        // the text as ready had it
	job  compat.Job    // zero for a text that is no job
	form encoding.Form // how body holds the job's text
	due  ServerTime    // when its text had been due; 0: not known
	seq  uint64        // order of claiming, given by the Keeper
	sole bool          // no other entry of running had the first of leases

	breaks int64 // the Store's, when it was claimed
	trace  JobTrace
	probe  *pass // that it was claimed under as a probe; else nil

	take <-chan struct{} // closed: if its run has not begun it goes back; nil: the worker has not got it yet

	// The rest belongs to the Keeper and its mutex.

	// leases are the scores its running entry can have: one, and one more for each renewal whose reply
	// has not arrived. The last is what the next renewal asks for, as long as it lies ahead.
	leases  []Lease
	first   [1]Lease   // what leases begins with, without an allocation
	ends    ServerTime // end of the last confirmed lease
	aimed   ServerTime // end of the last of leases
	offered possible   // to its last settlement
	lost    bool       // found under another lease, or gone: not renewed any more
	settled bool       // its verdict is with the Settler
	writing bool       // its settlement is on the wire: not renewed, so that the lease does not change under it
}

// newHeld returns a claim that was taken at now under a lease of the given length. Its body is what profile delay has
// in running.
func newHeld(claim Claim, now ServerTime, lease time.Duration) *held {
	ends := now.Add(lease)
	h := &held{text: claim.Text, body: claim.Text, first: [1]Lease{claim.Lease}, sole: claim.Sole, trace: untraced{}, ends: ends, aimed: ends}
	h.leases = h.first[:]
	return h
}

// recalled reports that h goes back if its run has not begun.
func (h *held) recalled() bool {
	select {
	case <-h.take:
		return true
	default:
		return false
	}
}
