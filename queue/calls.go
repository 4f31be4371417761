package queue

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync/atomic"
)

// calls names the calls of one Store that claim from a list, so that no two claims in a running set are alike,
// whichever process made them, and whatever its clock said.
type calls struct {
	store string // no other Store has it
	n     atomic.Int64
}

func newCalls() *calls {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return &calls{store: hex.EncodeToString(b[:])}
}

// next returns the id of one more call, and its number.
func (c *calls) next() (id string, n int64) {
	n = c.n.Add(1)
	return c.store + "-" + strconv.FormatInt(n, 36), n
}
