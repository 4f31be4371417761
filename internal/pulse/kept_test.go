package pulse

import (
	"testing"
	"time"

	"sidecar/internal/testenv"
)

func TestAHeartbeatFindsWhetherRedisKeepsWhatIsWritten(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	server, clock := newServer(t, r)
	other, _ := newServer(t, testenv.Redis(t))
	p := newPulse(newFake("one"))
	beat := func(s *Server, what string, want Kept) {
		t.Helper()
		p.Beat(t.Context(), s)
		if got := p.Kept(); got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	flush := func() {
		t.Helper()
		if err := server.Redis.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	beat(server, "the first one", Kept{})
	beat(server, "the second", Kept{Beats: 1})
	flush()
	beat(server, "emptied before anything else was there", Kept{Beats: 1})
	clock.passes(time.Minute)
	beat(server, "a minute is published", Kept{Beats: 2})
	server.Redis.HDel(t.Context(), "shop:sidecar:alive", "one")
	beat(server, "somebody has taken the heartbeat away", Kept{Beats: 2})
	flush()
	beat(server, "emptied", Kept{Beats: 2, Emptied: 1})
	beat(server, "and kept again", Kept{Beats: 3, Emptied: 1})
	clock.passes(time.Minute)
	beat(server, "a further minute", Kept{Beats: 4, Emptied: 1})
	flush()
	clock.passes(11 * time.Minute)
	beat(server, "emptied, or it was silent for so long that nobody remembers it", Kept{Beats: 4, Emptied: 1})
	beat(other, "another Redis", Kept{Beats: 4, Emptied: 1})
	beat(server, "and the first one again", Kept{Beats: 5, Emptied: 1})
	r.Stop()
	beat(server, "none", Kept{Beats: 5, Emptied: 1})
}
