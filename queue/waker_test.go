package queue_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// startWaker runs a Waker for the topics until the test ends.
func startWaker(t *testing.T, rdb redis.UniversalClient, prefix string, topics ...string) *queue.Waker {
	t.Helper()
	w := queue.NewWaker(rdb, prefix, topicsOf(topics...), slog.New(slog.NewTextHandler(t.Output(), nil)))
	runWaker(t, w)
	return w
}

func runWaker(t *testing.T, w *queue.Waker) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		w.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		stop()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("Run does not return")
		}
	})
}

// wantWake fails unless the signal comes.
func wantWake(t *testing.T, signal <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(patience):
		t.Fatalf("nothing woke %s", what)
	}
}

// wantQuiet fails if the signal comes.
func wantQuiet(t *testing.T, signal <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-signal:
		t.Errorf("%s was woken for nothing", what)
	case <-time.After(50 * time.Millisecond):
	}
}

// active waits until the Waker listens and takes the wake-ups that came of it.
func active(t *testing.T, w *queue.Waker, topics ...string) {
	t.Helper()
	testenv.Poll(t, patience, "the waker to listen", w.Active)
	for _, topic := range topics {
		wantWake(t, w.Topic(topic).Pool, topic+"'s pool at the start")
		wantWake(t, w.Topic(topic).Ready, topic+"'s ready at the start")
	}
}

func TestWakerTellsOfEveryChangeToItsTopics(t *testing.T) {
	server := testenv.Redis(t)
	for name, opts := range map[string]queue.RedisOptions{
		"resp3":    {URL: server.URL()},
		"resp2":    {URL: server.URL(), Protocol: 2},
		"socket":   {URL: "unix://" + server.Socket},
		"prefixed": {URL: server.URL(), KeyPrefix: "app:"},
	} {
		t.Run(name, func(t *testing.T) {
			rdb := open(t, opts)
			// One topic's name begins like the other's: Redis refuses prefixes that overlap.
			w := startWaker(t, rdb, opts.KeyPrefix, "mail", "mail2")
			active(t, w, "mail", "mail2")

			producer := server.Client()
			if err := producer.ZAdd(t.Context(), opts.KeyPrefix+"delay:pool:mail", redis.Z{Score: 1, Member: name}).Err(); err != nil {
				t.Fatal(err)
			}
			wantWake(t, w.Topic("mail").Pool, "mail's pool")
			wantQuiet(t, w.Topic("mail").Ready, "mail's ready")
			wantQuiet(t, w.Topic("mail2").Pool, "mail2's pool")
			if err := producer.RPush(t.Context(), opts.KeyPrefix+"delay:ready:mail2", "x").Err(); err != nil {
				t.Fatal(err)
			}
			wantWake(t, w.Topic("mail2").Ready, "mail2's ready")
			wantQuiet(t, w.Topic("mail").Ready, "mail's ready")
		})
	}
}

func TestWakerKeepsOneWakeUpForManyChanges(t *testing.T) {
	server := testenv.Redis(t)
	w := startWaker(t, open(t, queue.RedisOptions{URL: server.URL()}), "", "mail")
	active(t, w, "mail")
	pipe := server.Client().Pipeline()
	for i := range 1000 {
		pipe.ZAdd(t.Context(), "delay:pool:mail", redis.Z{Score: float64(i), Member: i})
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantWake(t, w.Topic("mail").Pool, "mail's pool")
}

func TestWakerFlushWakesAll(t *testing.T) {
	server := testenv.Redis(t)
	w := startWaker(t, open(t, queue.RedisOptions{URL: server.URL()}), "", "mail")
	active(t, w, "mail")
	own := server.Client()
	before := listenerIDs(t, own)
	for range 3 {
		if err := own.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		wantWake(t, w.Topic("mail").Pool, "mail's pool")
	}
	if after := listenerIDs(t, own); !w.Active() || after != before {
		t.Errorf("active %v on connection %s, was on %s: want the same one", w.Active(), after, before)
	}
}

// listenerIDs names the connections that listen.
func listenerIDs(t *testing.T, rdb *redis.Client) (ids string) {
	t.Helper()
	list, err := rdb.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(list) {
		id, _, _ := strings.Cut(line, " ")
		ids += id + " "
	}
	return ids
}

func TestWakerComesBackAfterARestart(t *testing.T) {
	server := testenv.Redis(t)
	w := startWaker(t, open(t, queue.RedisOptions{URL: server.URL()}), "", "mail")
	active(t, w, "mail")
	server.Kill()
	testenv.Poll(t, patience, "the waker to notice", func() bool { return !w.Active() })
	wantWake(t, w.Topic("mail").Pool, "mail's pool at the loss")
	server.Start()
	testenv.Poll(t, patience, "the waker to listen again", w.Active)
	wantWake(t, w.Topic("mail").Pool, "mail's pool at the return")
}

// A firewall that forgets a connection says nothing about it.
func TestWakerNoticesAConnectionThatWentSilent(t *testing.T) {
	server := testenv.Redis(t)
	w := queue.NewWaker(open(t, queue.RedisOptions{URL: server.URL()}), "", topicsOf("mail"), slog.New(slog.NewTextHandler(t.Output(), nil)))
	queue.SetWakerPing(w, 20*time.Millisecond, 200*time.Millisecond)
	runWaker(t, w)
	active(t, w, "mail")
	wantQuiet(t, w.Topic("mail").Pool, "mail's pool") // some pings are answered meanwhile
	if !w.Active() {
		t.Fatal("a connection that stands was given up")
	}
	resume := server.Pause()
	defer resume()
	testenv.Poll(t, patience, "the waker to notice", func() bool { return !w.Active() })
	wantWake(t, w.Topic("mail").Pool, "mail's pool at the loss")
	resume()
	testenv.Poll(t, patience, "the waker to listen again", w.Active)
}

func TestWakerSaysThatItCannot(t *testing.T) {
	server := testenv.Redis(t)
	b := benchOn(server, nil)
	user := asUser(t, b, "~*", "+@all", "-client")
	proxy := newProxy(t, server.Addr, func(command []string) string {
		if command[0] == "client" {
			return "-ERR unknown subcommand 'TRACKING'\r\n"
		}
		return forward
	})
	for name, rdb := range map[string]redis.UniversalClient{
		"no right to":   user.rdb,
		"an old server": open(t, queue.RedisOptions{URL: "redis://" + proxy.addr}),
		"nobody there":  open(t, queue.RedisOptions{URL: "redis://" + testenv.FreeAddr(t)}),
	} {
		w := startWaker(t, rdb, "", "mail")
		if w.Active() {
			t.Errorf("%s: active", name)
		}
		wantQuiet(t, w.Topic("mail").Pool, "mail's pool")
		if w.Active() {
			t.Errorf("%s: active", name)
		}
	}
}

func TestWakerOfAnUnknownTopicNeverWakes(t *testing.T) {
	server := testenv.Redis(t)
	w := queue.NewWaker(server.Client(), "", topicsOf("mail"), slog.New(slog.DiscardHandler))
	if wakes := w.Topic("other"); wakes.Pool != nil || wakes.Ready != nil {
		t.Error("got channels")
	}
	if w.Active() {
		t.Error("active before Run")
	}
}
