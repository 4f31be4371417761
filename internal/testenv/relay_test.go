package testenv_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

func TestRelayAnswersCutsAndPassesOn(t *testing.T) {
	server := testenv.Redis(t)
	relay := testenv.NewRelay(t, func() string { return server.Addr }, func(command []string) string {
		switch command[0] {
		case "get":
			return "$2\r\nhi\r\n"
		case "incr":
			return testenv.CutReply
		case "decr":
			return testenv.HangUp
		}
		return testenv.Forward
	})
	rdb := redis.NewClient(&redis.Options{Addr: relay.Addr, Protocol: 2, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true})
	defer func() { _ = rdb.Close() }()
	if got := rdb.Get(t.Context(), "n").Val(); got != "hi" {
		t.Errorf("get: %q, want the relay's own answer", got)
	}
	if err := rdb.Incr(t.Context(), "n").Err(); err == nil {
		t.Error("incr: an answer, want none")
	}
	if err := rdb.Decr(t.Context(), "n").Err(); err == nil {
		t.Error("decr: an answer, want none")
	}
	if got := rdb.HSet(t.Context(), "h", "k", "v").Val(); got != 1 {
		t.Errorf("hset: %d", got)
	}
	if got := server.Client().Get(t.Context(), "n").Val(); got != "1" {
		t.Errorf("the server has n = %q, want incr run once and decr never", got)
	}
	if n := relay.Count("incr"); n != 1 {
		t.Errorf("incr was seen %d times", n)
	}
}
