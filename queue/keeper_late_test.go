package queue

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// A renewal that stood in a frozen Redis for long asks for a lease that was reckoned before: it may have ended when it
// is set, and an entry that looks expired is anybody's.
func TestALateRenewalIsFollowedByAnother(t *testing.T) {
	server := testenv.Redis(t)
	rdb := server.Client()
	opts := DefaultOptions()
	opts.Topic, opts.Lease = "mail", 3*time.Second
	store := NewStore(rdb, "", opts)
	if err := rdb.RPush(t.Context(), "delay:ready:mail", `{"uuid":"a"}`).Err(); err != nil {
		t.Fatal(err)
	}
	claims, err := store.Claim(t.Context(), 1)
	if err != nil || len(claims.List) != 1 {
		t.Fatalf("%v, %v, want one claim", claims, err)
	}
	clock := &serverClock{}
	clock.set(claims.Now, time.Now())
	log := slog.New(slog.DiscardHandler)
	steps := &troubles{topic: "mail", metrics: NewMetrics(prometheus.NewRegistry(), []string{"mail"}).topic("mail"), outages: NewOutages(log), log: log}
	k := newKeeper(store, opts.Lease, clock, steps.metrics, steps.of("renew"), log)
	k.take([]*held{newHeld(claims.List[0], claims.Now, opts.Lease)})
	k.round(t.Context())
	before := scriptCalls(t, rdb)

	resume := server.Pause()
	ended := make(chan struct{})
	go func() { k.round(t.Context()); close(ended) }()
	pause(t.Context(), opts.Lease/2)
	resume()
	<-ended
	if n := scriptCalls(t, rdb) - before; n < 2 {
		t.Errorf("%d renewals after the late one, want another", n-1)
	}
}

// scriptCalls returns how many scripts the server has run.
func scriptCalls(t *testing.T, rdb *redis.Client) (n int) {
	t.Helper()
	stats, err := rdb.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(stats) {
		if calls, ok := strings.CutPrefix(line, "cmdstat_evalsha:calls="); ok {
			for _, digit := range calls {
				if digit < '0' || digit > '9' {
					break
				}
				n = 10*n + int(digit-'0')
			}
		}
	}
	return n
}
