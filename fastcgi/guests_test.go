package fastcgi

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// guestOf adds a guest of that user, as if he had called.
func (s *guests) guestOf(t *testing.T, uid int) *guest {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	g := s.admit(here)
	s.mu.Lock()
	g.uid = uid
	s.mu.Unlock()
	return g
}

func TestWhoeverHasMostCallersLosesHisOldest(t *testing.T) {
	s := &guests{}
	honest := s.guestOf(t, 33)
	first, second := s.guestOf(t, 1000), s.guestOf(t, 1000)
	for range guestsAtOnce - 3 {
		s.guestOf(t, 1000)
	}
	if len(s.list) != guestsAtOnce {
		t.Fatalf("%d guests, want %d: nobody is turned away before there is need", len(s.list), guestsAtOnce)
	}
	late := s.guestOf(t, 33)
	if first.settle() {
		t.Error("the oldest of the user with most callers was kept")
	}
	if _, err := first.Write([]byte("x")); err == nil {
		t.Error("his connection is open")
	}
	for name, g := range map[string]*guest{"the other user's first": honest, "the other user's last": late, "the next oldest": second} {
		if !g.settle() {
			t.Errorf("%s was turned away", name)
		}
	}
	if second.settle() {
		t.Error("a guest settled twice")
	}
}

func TestGuestsNeverAreMoreThanTheLimit(t *testing.T) {
	s := &guests{}
	for uid := range 5 * guestsAtOnce {
		s.guestOf(t, uid)
		if len(s.list) > guestsAtOnce {
			t.Fatalf("%d guests", len(s.list))
		}
	}
}

func TestTheKernelTellsWhoCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if got := peerUID(in); got != os.Getuid() {
		t.Errorf("uid %d, want %d", got, os.Getuid())
	}
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	if got := peerUID(here); got != nobodyKnown {
		t.Errorf("uid %d of a connection that has none", got)
	}
}
