package admin_test

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"sidecar/internal/admin"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

func TestDepthsAreReadWhenScraped(t *testing.T) {
	server := testenv.Redis(t)
	rdb := server.Client()
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	store := queue.NewStore(rdb, "", opts)
	depths := admin.NewDepths(func(ctx context.Context) map[string]queue.DepthsRead {
		return map[string]queue.DepthsRead{"mail": queue.DepthsOf(ctx, []*queue.Store{store})[0]}
	})
	ctx := t.Context()
	for _, command := range [][]any{
		{"ZADD", "delay:pool:mail", "+inf", "never", 0, "at once"},
		{"RPUSH", "delay:ready:mail", "a", "b", "c"},
		{"ZADD", "delay:running:mail", "+inf", "d"},
		{"RPUSH", "delay:dead:mail", "e", "f", "g", "h"},
	} {
		if err := rdb.Do(ctx, command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	want := `
# HELP sidecar_depth_jobs Jobs in each of a topic's keys.
# TYPE sidecar_depth_jobs gauge
sidecar_depth_jobs{key="dead",topic="mail"} 4
sidecar_depth_jobs{key="pool",topic="mail"} 2
sidecar_depth_jobs{key="ready",topic="mail"} 3
sidecar_depth_jobs{key="running",topic="mail"} 1
# HELP sidecar_depths_up 1 when the topic's keys could be read for this scrape.
# TYPE sidecar_depths_up gauge
sidecar_depths_up{topic="mail"} 1
# HELP sidecar_due_jobs Jobs in the pool that are due.
# TYPE sidecar_due_jobs gauge
sidecar_due_jobs{topic="mail"} 1
# HELP sidecar_oldest_due_age_seconds For how long the oldest job that is due or ready has been due, of ready as an estimate; 0 when there is none.
# TYPE sidecar_oldest_due_age_seconds gauge
sidecar_oldest_due_age_seconds{topic="mail"} 0
`
	if err := testutil.CollectAndCompare(depths, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(depths); err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}

	server.Stop()
	down := `
# HELP sidecar_depths_up 1 when the topic's keys could be read for this scrape.
# TYPE sidecar_depths_up gauge
sidecar_depths_up{topic="mail"} 0
`
	if err := testutil.CollectAndCompare(depths, strings.NewReader(down)); err != nil {
		t.Errorf("without redis: %v", err)
	}
}
