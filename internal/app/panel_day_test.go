package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/dash"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

func TestAJobThatAnOldConsumerHoldsIsShownAsSuch(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	until := float64(time.Now().Add(time.Minute).Truncate(time.Second).UnixMilli()) //nolint:forbidigo // as the old consumer does
	b.rdb.ZAdd(t.Context(), "delay:running:mail", redis.Z{Score: until + 123, Member: `{"uuid":"old"}`}, redis.Z{Score: until, Member: `{"uuid":"renewed"}`},
		redis.Z{Score: float64(time.Now().Add(5*time.Second).UnixMilli()) + .25, Member: `{"uuid":"orphan"}`}) //nolint:forbidigo // as above
	testenv.Poll(t, patience, "the sidecar's own heartbeat", func() bool { return b.rdb.HLen(t.Context(), "sidecar:alive").Val() == 1 })
	beats, err := queue.NewHeartbeats(b.rdb, "").All(t.Context())
	if err != nil || len(beats) != 1 || beats[0].LeaseOf("mail") != 30*time.Second {
		t.Errorf("it says of its leases %+v, %v", beats, err)
	}
	var page dash.JobsPage
	b.ask(t, "GET", "/topics/mail/jobs?key=running", "", &page)
	got := map[string]string{}
	for _, row := range page.Jobs {
		got[row.UUID] = fmt.Sprint(row.Old, row.Unrenewed)
	}
	if want := "map[old:true false orphan:false true renewed:false false]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// The sidecar looks every ten seconds.
func TestAFullRedisAndJobsThatAreGoneWithARestartAreTold(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	for i, rdb := 0, server.Client(); i < 20; i++ { // before the first look, so that each counts them
		rdb.ZAdd(t.Context(), "delay:pool:mail", redis.Z{Score: 4e12, Member: fmt.Sprintf(`{"uuid":"j%d"}`, i)})
	}
	b := newBoard(t, server, "")
	var o dash.Overview
	look := func() dash.Overview {
		o = dash.Overview{}
		b.ask(t, "GET", "/overview", "", &o)
		return o
	}
	b.rdb.ConfigSet(t.Context(), "maxmemory", "1mb")
	testenv.Poll(t, patience, "the full Redis to be told of", func() bool { return look().Redis.Refuses && o.Redis.Up && o.Redis.Policy != "" })
	if code, body := b.try(t, "GET", "/readyz", ""); code != http.StatusServiceUnavailable || !strings.Contains(string(body), "takes no writes") {
		t.Errorf("/readyz answers %d %s", code, body)
	}
	if len(o.Sidecars) != 1 || o.Sidecars[0].State != dash.SidecarRunning || o.Redis.Policy != "noeviction" {
		t.Errorf("%+v, %+v", o.Redis, o.Sidecars)
	}
	testenv.Poll(t, patience, "all jobs to be counted", func() bool {
		for _, topic := range look().Topics {
			if topic.Name == "mail" && topic.Depths.Pool == 20 {
				return true
			}
		}
		return false
	})
	server.Stop()
	server.Start()
	testenv.Poll(t, 2*patience, "the jobs to be missed", func() bool { return len(look().Incidents) == 1 })
	if i := o.Incidents[0]; i.Kind != dash.IncidentLost || i.Topic != "mail" || i.Count != 20 {
		t.Errorf("got %+v", i)
	}
}

func TestAnothersPoolThatTakesNoJobIsNotShownAsOneThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	testenv.Poll(t, patience, "the other one's pools", func() bool {
		at := time.Now().UTC().Format(time.RFC3339Nano)
		b.rdb.HSet(t.Context(), "sidecar:alive", "web9-7-abc", fmt.Sprintf(`{"instance":"web9-7-abc","host":"web9","at":%q,"pools":[
			{"name":"hung","down":"no child took the job within 12s: php-fpm hangs"},{"name":"gone","down":"connection refused: php-fpm is not running"}]}`, at))
		var o dash.Overview
		b.ask(t, "GET", "/overview", "", &o)
		full := map[string]bool{}
		for _, p := range o.Pools {
			full[p.Name] = p.Full
		}
		gone, there := full["gone"]
		return full["hung"] && there && !gone
	})
}

func TestASidecarWhoseHeartbeatCannotBeReadIsShown(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	b.rdb.HSet(t.Context(), "sidecar:alive", "web9-7-abc", "\x1f\x8b")
	testenv.Poll(t, patience, "the other version's sidecar", func() bool {
		var o dash.Overview
		b.ask(t, "GET", "/overview", "", &o)
		for _, s := range o.Sidecars {
			if s.Instance == "web9-7-abc" {
				return s.State == dash.SidecarUnread && len(s.Reasons) == 1
			}
		}
		return false
	})
}
