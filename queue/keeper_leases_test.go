package queue

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const epoch ServerTime = 1_732_900_000_000_000

// testKeeper returns a Keeper without a Store: renewals and their answers are looked at from outside.
func testKeeper(t *testing.T) *Keeper {
	t.Helper()
	clock := &serverClock{}
	clock.set(epoch, time.Now())
	metrics := NewMetrics(prometheus.NewRegistry(), []string{"mail"}).topic("mail")
	log := slog.New(slog.DiscardHandler)
	steps := &troubles{topic: "mail", metrics: metrics, outages: NewOutages(log), log: log}
	return newKeeper(&Store{}, 30*time.Second, clock, metrics, steps.of("renew"), log)
}

func take(k *Keeper, text string, lease Lease) *held {
	h := newHeld(Claim{Text: text, Lease: lease}, k.clock.now(), k.lease)
	k.take([]*held{h})
	return h
}

func lease(after time.Duration) Lease { return leaseAt(epoch.Add(after)) }

// beginWrite begins the write of one claim.
func beginWrite(k *Keeper, h *held) possible { return k.beginWrite([]*settlement{{claim: h}})[0] }

func TestALeaseIsAskedForAgainUntilItIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := testKeeper(t)
		h := take(k, "a", "claimed")
		pause(t.Context(), 10*time.Second)
		_, asked := k.renewals()
		want := []Renewal{{Text: "a", Held: "claimed", Next: lease(40 * time.Second)}}
		if !slices.Equal(asked, want) {
			t.Fatalf("asked for %v, want %v", asked, want)
		}
		// The reply is lost. Both leases count, and the same one is asked for.
		if leases := beginWrite(k, h); leases.held != "claimed" || leases.next != want[0].Next {
			t.Errorf("settles under %s or %s", leases.held, leases.next)
		}
		k.endWrite(h)
		pause(t.Context(), time.Second)
		owners, asked := k.renewals()
		if !slices.Equal(asked, want) {
			t.Fatalf("asked for %v, want %v again", asked, want)
		}
		k.confirm(t.Context(), owners, asked, []bool{false})
		if leases := beginWrite(k, h); leases.held != want[0].Next || leases.next != "" {
			t.Errorf("settles under %s or %q, want the confirmed lease only", leases.held, leases.next)
		}
	})
}

// The first claim's lease has ended, another sidecar took the entry, and a twin of the text was claimed here: only one of
// the two holds the entry, and what the other asks for must not be the same score.
func TestTwoClaimsOfOneTextAskForLeasesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := testKeeper(t)
		take(k, "a", "taken away")
		take(k, "a", "held")
		take(k, "b", "held")
		_, asked := k.renewals()
		next := map[string][]Lease{}
		for _, r := range asked {
			next[r.Text] = append(next[r.Text], r.Next)
		}
		slices.Sort(next["a"])
		want := []Lease{lease(30 * time.Second), lease(30*time.Second + renewalStep)}
		if !slices.Equal(next["a"], want) || !slices.Equal(next["b"], want[:1]) {
			t.Errorf("asked for %v, want %v and %v", next, want, want[:1])
		}
	})
}

func TestAfterALongOutageEachPossibleLeaseIsMovedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := testKeeper(t)
		h := take(k, "a", "claimed")
		k.renewals()                        // its reply is lost
		pause(t.Context(), 100*time.Second) // the lease that was asked for is over
		owners, asked := k.renewals()
		first, second := lease(30*time.Second), lease(130*time.Second)
		if want := []Renewal{{Text: "a", Held: "claimed", Next: second}, {Text: "a", Held: first, Next: second}}; !slices.Equal(asked, want) {
			t.Fatalf("asked for %v, want %v", asked, want)
		}
		// That reply is lost as well: three leases are possible, two go into one offer.
		if leases := beginWrite(k, h); leases.held != "claimed" || leases.next != first {
			t.Errorf("settles under %s or %s", leases.held, leases.next)
		}
		k.endWrite(h)
		if !k.otherLease(h) {
			t.Fatal("the third lease is forgotten")
		}
		if leases := beginWrite(k, h); leases.held != second || leases.next != "" {
			t.Errorf("settles under %s or %q, want the third", leases.held, leases.next)
		}
		if k.otherLease(h) {
			t.Error("there is a fourth lease")
		}
		// The answer to the last renewal is the answer for the claim.
		k.endWrite(h)
		k.confirm(t.Context(), owners, asked, []bool{true, false})
		if h.lost || !slices.Equal(h.leases, []Lease{second}) {
			t.Errorf("lost %t, leases %v", h.lost, h.leases)
		}
	})
}

// Redis runs the renewal before the settlement, and both answers arrive together: the settlement is refused, and the
// lease that it should have named is the only one left.
func TestALeaseThatIsConfirmedWhileASettlementIsRefusedIsTriedNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := testKeeper(t)
		h := take(k, "a", "claimed")
		k.renewals()                       // its reply is late
		pause(t.Context(), 31*time.Second) // the lease that was asked for is over
		owners, asked := k.renewals()      // under way ...
		first := beginWrite(k, h)          // ... when the settlement begins
		k.confirm(t.Context(), owners, asked, []bool{false, false})
		if !k.otherLease(h) {
			t.Fatalf("offered %v, confirmed %v: taken for lost", first, h.leases)
		}
		k.endWrite(h)
		if leases := beginWrite(k, h); leases.held != lease(61*time.Second) || leases.next != "" {
			t.Errorf("settles under %s or %q, want the confirmed lease", leases.held, leases.next)
		}
		if k.otherLease(h) {
			t.Error("there is another lease, want none")
		}
	})
}

func TestALeaseConfirmedTooLateIsStillInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := testKeeper(t)
		h := take(k, "a", "claimed")
		owners, asked := k.renewals()
		pause(t.Context(), 31*time.Second) // Redis stood still and answers now: ours, but which one?
		k.confirm(t.Context(), owners, asked, []bool{false})
		if want := []Lease{"claimed", lease(30 * time.Second)}; !slices.Equal(h.leases, want) {
			t.Errorf("leases %v, want %v", h.leases, want)
		}
	})
}

func TestAClaimWhoseSettlementIsOnTheWireIsNotRenewed(t *testing.T) {
	k := testKeeper(t)
	h := take(k, "a", "claimed")
	beginWrite(k, h)
	if _, asked := k.renewals(); len(asked) != 0 {
		t.Errorf("asked for %v, want nothing", asked)
	}
	k.endWrite(h) // it was refused, and waits for the next offer under its lease
	if _, asked := k.renewals(); len(asked) != 1 {
		t.Errorf("asked for %v, want one", asked)
	}
	k.release(h)
	if _, asked := k.renewals(); len(asked) != 0 || k.inHand() != 0 {
		t.Errorf("asked for %v after the release, %d in hand", asked, k.inHand())
	}
}

func TestAnAnswerForAClaimThatIsSettledChangesNothing(t *testing.T) {
	k := testKeeper(t)
	h := take(k, "a", "claimed")
	owners, asked := k.renewals()
	k.release(h)
	k.confirm(t.Context(), owners, asked, []bool{true})
	if h.lost {
		t.Error("a settled claim counts as lost")
	}
}

// Only a lease that is still a claim's first, on a server that has not been out of sight since, tells its text.
func TestWhenALeaseTellsItsText(t *testing.T) {
	tests := map[string]struct {
		happens func(k *Keeper, h *held, one *settlement)
		want    bool
	}{
		"nothing":               {func(*Keeper, *held, *settlement) {}, true},
		"renewed":               {func(_ *Keeper, h *held, _ *settlement) { h.leases = []Lease{"2"} }, false},
		"offered before":        {func(_ *Keeper, _ *held, one *settlement) { one.skipGone = true }, false},
		"a call failed":         {func(k *Keeper, _ *held, _ *settlement) { k.store.breaks.Add(1) }, false},
		"read as expired claim": {func(_ *Keeper, h *held, _ *settlement) { h.sole = false }, false},
	}
	for name, tt := range tests {
		k := testKeeper(t)
		h := newHeld(Claim{Text: "a", Lease: "1.5", Sole: true}, k.clock.now(), k.lease)
		k.take([]*held{h})
		one := &settlement{claim: h}
		tt.happens(k, h, one)
		if got := k.beginWrite([]*settlement{one})[0].sole; got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestStrangersAreTheTextsNobodyHoldsHere(t *testing.T) {
	k := testKeeper(t)
	take(k, "a", "1")
	got := k.strangers([]Claim{{Text: "a", Lease: "1"}, {Text: "b", Lease: "2"}})
	if want := []Claim{{Text: "b", Lease: "2"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := k.strangers(nil); got != nil {
		t.Errorf("got %v of none", got)
	}
}

// What keeps a process that stood still from running jobs that others have by now.
func TestAClaimLapsesWithItsLastConfirmedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := testKeeper(t)
		claim := inHandOf{k, take(k, "a", "claimed")}
		pause(t.Context(), 29*time.Second)
		if claim.Lapsed() {
			t.Error("lapsed within the lease")
		}
		owners, asked := k.renewals()
		pause(t.Context(), time.Second)
		if !claim.Lapsed() {
			t.Error("not lapsed at the end of the lease, with a renewal that nobody confirmed")
		}
		k.confirm(t.Context(), owners, asked, []bool{false})
		if claim.Lapsed() {
			t.Error("lapsed although the renewal was confirmed")
		}
		owners, asked = k.renewals()
		k.confirm(t.Context(), owners, asked, []bool{true})
		if !claim.Lapsed() {
			t.Error("not lapsed although the lease was found lost")
		}
	})
}

// Settling looks at when the lease ends where the entry is gone (DESIGN 4): a renewal that was refused must not count.
func TestALostClaimIsSettledUnderNoLeaseThatWasOnlyAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := testKeeper(t)
		h := take(k, "a", "claimed")
		pause(t.Context(), time.Minute)
		owners, asked := k.renewals()
		k.confirm(t.Context(), owners, asked, []bool{true})
		if leases := beginWrite(k, h); leases.held != "claimed" || leases.next != "" {
			t.Errorf("settles under %s or %q, want the first only", leases.held, leases.next)
		}
	})
}
