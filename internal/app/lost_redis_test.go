package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/config"
	"sidecar/internal/pulse"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// later has Redis tell a time that is a minute later from the moment on that it is set.
type later struct{ by time.Duration }

func (*later) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *later) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if told, ok := cmd.(*redis.TimeCmd); ok && err == nil {
			told.SetVal(told.Val().Add(l.by))
		}
		return err
	}
}

func (*later) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// What the sidecar itself has in Redis is gone with the jobs, and that is all there is to see.
func TestAFLUSHALLIsSeenByTheHeartbeat(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("sidecar.toml", []byte("[fpm.default]\nlisten = \"unix:///nowhere\"\n[topic.mail]\nscript = \"/nowhere.php\"\n"), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	a, clock := newApp(Options{Config: cfg, Log: slog.New(slog.DiscardHandler)}), new(later)
	rdb := testenv.Redis(t).Client()
	rdb.AddHook(clock)
	g, server := &generation{cfg: cfg, eyes: rdb}, &pulse.Server{Redis: rdb}
	store := queue.NewStore(rdb, "", cfg.Topics[0].Queue)
	var watch lostWatch
	look := func() {
		t.Helper()
		a.lookForLost(t.Context(), g, &watch, depthsRound{memory: memory{run: "the same"}, topics: map[string]queue.DepthsRead{"mail": queue.DepthsOf(t.Context(), []*queue.Store{store})[0]}})
	}
	for i := range 30 {
		rdb.RPush(t.Context(), "delay:dead:mail", i)
	}
	a.pulse.Beat(t.Context(), server)
	look()
	clock.by = time.Minute
	a.pulse.Beat(t.Context(), server) // and publishes the minute
	look()
	if list := a.incidents.List(); len(list) > 0 {
		t.Errorf("missed %+v", list)
	}
	if err := rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	look() // nothing tells yet
	a.pulse.Beat(t.Context(), server)
	look()
	list := a.incidents.List()
	if len(list) != 1 || list[0].Kind != queue.IncidentLost || list[0].Topic != "mail" || list[0].Count != 30 || list[0].Detail != queue.Emptied {
		t.Errorf("missed %+v, want all 30", list)
	}
}

func TestTheAuditTrailSaysWhatPeopleHaveMoved(t *testing.T) {
	t.Parallel()
	rdb := testenv.Redis(t).Client()
	audit := queue.NewAudit(rdb, "")
	add := func(verb, topic string, count int, file ...string) {
		t.Helper()
		if err := audit.Add(t.Context(), queue.Audited{Verb: verb, Topic: topic, Count: count, File: strings.Join(file, "")}); err != nil {
			t.Fatal(err)
		}
	}
	add(queue.VerbDrop, "mail", 1)
	lines, err := audit.Recent(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	since := queue.ServerTime(lines[0].At.Sub(time.Unix(0, 0)).Microseconds() + 1)
	add(queue.VerbDrop, "mail", 20)
	add(queue.VerbReplay, "mail", 300)
	add(queue.VerbUndo, "mail", 4000)
	add(queue.VerbRequeue, "sms", 7)
	add(queue.VerbDrop, "sms", 1000, "stopped.jsonl") // as it began
	add(queue.VerbDrop, "sms", 3, "stopped.jsonl")    // as it ended
	if got := movedByHand(t.Context(), audit, since); len(got) != 2 || got["mail"] != 320 || got["sms"] != 10 {
		t.Errorf("got %v", got)
	}
}
