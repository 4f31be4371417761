package queue

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// clients returns how many connections the server has, but for the one that asks.
func clients(t *testing.T, own *redis.Client) int {
	t.Helper()
	info, err := own.InfoMap(t.Context(), "clients").Result()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(info["Clients"]["connected_clients"])
	if err != nil {
		t.Fatal(err)
	}
	return n - 1
}

// In an outage every call waits, each on a connection of its own. Those were never closed.
func TestConnectionsThatAnOutageOpenedAreClosedAgain(t *testing.T) {
	const calls = 12
	for _, protocol := range []int{2, 3} {
		server := testenv.Redis(t)
		own := server.Client()
		shake := newHandshake(protocol, nil)
		shake.idle = 300 * time.Millisecond
		rdb := redis.NewClient(&redis.Options{
			Addr: server.Addr, Dialer: shake.dial, Protocol: protocol, MaxRetries: -1, PoolSize: calls, ConnMaxIdleTime: 200 * time.Millisecond,
		})
		t.Cleanup(func() { _ = rdb.Close() })
		resume := server.Pause()
		var waiting sync.WaitGroup
		for range calls {
			waiting.Go(func() {
				if err := rdb.Ping(t.Context()).Err(); err != nil {
					t.Error(err)
				}
			})
		}
		testenv.Poll(t, 10*time.Second, "a connection for each call", func() bool { return rdb.PoolStats().TotalConns == calls })
		resume()
		waiting.Wait()
		testenv.Poll(t, 10*time.Second, "one connection to be left", func() bool {
			if err := rdb.Ping(t.Context()).Err(); err != nil {
				t.Fatalf("a connection in use was closed: %v", err)
			}
			return clients(t, own) <= 1
		})
		if err := rdb.Ping(t.Context()).Err(); err != nil {
			t.Error(err)
		}
		testenv.Poll(t, 10*time.Second, "the last one to be closed", func() bool { return clients(t, own) == 0 })
		for range 3 {
			if err := rdb.Ping(t.Context()).Err(); err != nil {
				t.Errorf("after all were closed: %v", err)
			}
		}
	}
}
