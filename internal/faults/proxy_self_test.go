package faults

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// through returns a client that repeats nothing, behind a front of the proxy.
func through(t *testing.T, p *proxy) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{
		Addr: p.front(), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, Protocol: 2, ReadTimeout: 3 * time.Second,
	})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func storeOn(rdb *redis.Client) *queue.Store {
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	return queue.NewStore(rdb, "", opts)
}

func TestTheProxyPassesWhatIsLongerThanItsBuffer(t *testing.T) {
	p := newProxy(t, testenv.Redis(t).Addr)
	rdb := through(t, p).WithTimeout(time.Minute)
	long := strings.Repeat("0123456789", 500_000)
	if err := rdb.Set(t.Context(), "k", long, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := rdb.Get(t.Context(), "k").Result(); err != nil || got != long {
		t.Errorf("got %d bytes and %v, want %d", len(got), err, len(long))
	}
}

func TestACutCallRanOnlyIfItWasAnswered(t *testing.T) {
	for name, test := range map[string]struct {
		when    step
		running int64
	}{"asked": {asked, 0}, "answered": {answered, 1}, "heard": {heard, 1}} {
		t.Run(name, func(t *testing.T) {
			server := testenv.Redis(t)
			p := newProxy(t, server.Addr)
			store := storeOn(through(t, p))
			own := server.Client()
			if err := own.RPush(t.Context(), "delay:ready:mail", `{"uuid":"a"}`).Err(); err != nil {
				t.Fatal(err)
			}
			made, stop := p.cutCalls("claim", test.when, 1) // the server has not seen the script before
			defer stop()
			claims, err := store.Claim(t.Context(), 1)
			if test.when != heard && queue.FaultOf(err) != queue.Network {
				t.Errorf("got %v and %v, want a lost connection", claims, err)
			}
			if n := own.ZCard(t.Context(), "delay:running:mail").Val(); n != test.running {
				t.Errorf("%d texts are running, want %d", n, test.running)
			}
			testenv.Poll(t, 5*time.Second, "the cut", func() bool { return made() == 1 })
			if _, err := store.Claim(t.Context(), 1); err != nil && test.when != heard {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func TestAHeldCallWaitsAndOthersPass(t *testing.T) {
	server := testenv.Redis(t)
	p := newProxy(t, server.Addr)
	store := storeOn(through(t, p))
	reached, release := p.hold("claim", asked, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := store.Claim(t.Context(), 1)
		ended <- err
	}()
	<-reached
	if _, err := store.Promote(t.Context()); err != nil {
		t.Errorf("another script: %v", err)
	}
	if _, err := store.Claim(t.Context(), 1); err != nil {
		t.Errorf("the second call: %v", err)
	}
	release()
	if err := <-ended; err != nil {
		t.Errorf("the held call: %v", err)
	}
}

func TestAWatchIsToldByWhichFrontACallCame(t *testing.T) {
	p := newProxy(t, testenv.Redis(t).Addr)
	one, two := through(t, p), through(t, p)
	fronts := make(chan string, 2)
	stop := p.watch("claim", heard, func(front string) fate { fronts <- front; return pass })
	for _, rdb := range []*redis.Client{two, one} {
		if _, err := storeOn(rdb).Claim(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if got := <-fronts; got != rdb.Options().Addr {
			t.Errorf("a call by %s, want %s", got, rdb.Options().Addr)
		}
	}
	stop()
	if _, err := storeOn(one).Claim(t.Context(), 1); err != nil || len(fronts) != 0 {
		t.Errorf("after stop: %v, %d calls seen", err, len(fronts))
	}
}

func TestSpoiledRepliesAreCutAtTheByteAndMended(t *testing.T) {
	server := testenv.Redis(t)
	p := newProxy(t, server.Addr)
	mend := p.spoil(t.Context(), "limit_data", replies, map[string]int{"bytes": 3})
	conn, err := net.Dial("tcp", p.front())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	got := make([]byte, 0, 16)
	for err == nil {
		buf := make([]byte, 16)
		var n int
		n, err = conn.Read(buf)
		got = append(got, buf[:n]...)
	}
	if string(got) != "+PO" || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %q and %v, want +PO and the end", got, err)
	}
	mend()
	if err := through(t, p).Ping(t.Context()).Err(); err != nil {
		t.Errorf("mended: %v", err)
	}
}

func TestALateReplyIsNetworkTrouble(t *testing.T) {
	p := newProxy(t, testenv.Redis(t).Addr)
	rdb := through(t, p)
	if err := rdb.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	mend := p.spoil(t.Context(), "latency", replies, map[string]int{"latency": 10_000})
	if _, err := storeOn(rdb).Claim(t.Context(), 0); queue.FaultOf(err) != queue.Network {
		t.Errorf("got %v, want network trouble", err)
	}
	mend()
	testenv.Poll(t, 5*time.Second, "Redis to answer", func() bool { return rdb.Ping(t.Context()).Err() == nil })
}

func TestARefusingProxyComesBackAtItsAddress(t *testing.T) {
	p := newProxy(t, testenv.Redis(t).Addr)
	rdb := through(t, p)
	mend := p.refuse()
	if err := rdb.Ping(t.Context()).Err(); queue.FaultOf(err) != queue.Network {
		t.Errorf("got %v, want network trouble", err)
	}
	mend()
	testenv.Poll(t, 5*time.Second, "Redis to answer", func() bool { return rdb.Ping(t.Context()).Err() == nil })
	if p.cutAll() == 0 {
		t.Error("no connection is open")
	}
	testenv.Poll(t, 5*time.Second, "Redis to answer after a cut", func() bool { return rdb.Ping(t.Context()).Err() == nil })
}
