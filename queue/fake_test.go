package queue_test

import (
	"testing"

	"sidecar/internal/testenv"
)

// What a fake server does with a command, where it does not just answer.
const (
	forward  = testenv.Forward
	hangUp   = testenv.HangUp
	cutReply = testenv.CutReply
	hang     = testenv.Hang
)

// fake is a small scripted TCP peer that speaks RESP. With an upstream it is a proxy before it.
type fake struct {
	*testenv.Relay
	addr string
}

// newFake starts a fake server. answer is called for each command, from several goroutines.
func newFake(t testing.TB, answer func(command []string) string) *fake {
	t.Helper()
	return newProxyTo(t, nil, answer)
}

// newProxy starts a fake server before the real one at upstream.
func newProxy(t testing.TB, upstream string, answer func(command []string) string) *fake {
	t.Helper()
	return newProxyTo(t, func() string { return upstream }, answer)
}

// newProxyTo is newProxy where each connection asks for the server it goes to.
func newProxyTo(t testing.TB, upstream func() string, answer func(command []string) string) *fake {
	t.Helper()
	r := testenv.NewRelay(t, upstream, answer)
	return &fake{Relay: r, addr: r.Addr}
}

// commands returns the names of the commands seen so far.
func (f *fake) commands() []string { return f.Commands() }

// count returns how often a command was seen.
func (f *fake) count(name string) int { return f.Count(name) }
