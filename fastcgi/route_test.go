package fastcgi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
)

func parseTyped(t testing.TB, text string) compat.Job {
	t.Helper()
	job, err := compat.ParseListJob(text)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func TestATypeSelectsTheRoute(t *testing.T) {
	one := newRoutes(TopicOptions{Call: "own", Timeout: time.Minute})
	two := newRoutes(TopicOptions{Timeout: time.Minute, Routes: map[string]Target{"a": {Call: "a"}, "7": {Script: "/7.php", Timeout: time.Hour}}})
	three := newRoutes(TopicOptions{Script: "/own.php", Timeout: time.Minute, Routes: map[string]Target{"a": {Call: "a"}}})
	for name, tt := range map[string]struct {
		all  routes
		text string
		want string // the route's call or script; "" for none
	}{
		"no routes, no type":        {one, `{}`, "own"},
		"no routes, some type":      {one, `{"type":"a"}`, "own"},
		"its own":                   {two, `{"type":"a"}`, "a"},
		"a number's text":           {two, `{"type":7}`, "/7.php"},
		"PHP's escapes":             {two, `{"type":"\u0061"}`, "a"},
		"the last of two":           {two, `{"type":"x","type":"a"}`, "a"},
		"an unknown one":            {two, `{"type":"b"}`, ""},
		"no type":                   {two, `{"type":null}`, ""},
		"a default beside it":       {three, `{"type":"b"}`, "/own.php"},
		"a default for none":        {three, `{}`, "/own.php"},
		"its own, beside a default": {three, `{"type":"a"}`, "a"},
	} {
		to, err := tt.all.of(parseTyped(t, tt.text))
		if (err == nil) != (tt.want != "") || err == nil && to.call+to.script != tt.want {
			t.Errorf("%s: got %+v, %v; want %q", name, to, err, tt.want)
		}
	}
	if d := two.list[0].timeout; d != time.Hour || two.list[1].timeout != time.Minute || two.longest() != time.Hour {
		t.Errorf("timeouts: %s, %s, the longest %s", d, two.list[1].timeout, two.longest())
	}
}

// What a frame names is JSON whatever it is called, and never longer than the frame has room for.
func TestATargetIsPartOfAJobsHeader(t *testing.T) {
	worst := strings.Repeat("\x01", maxPath)
	all := newRoutes(TopicOptions{Call: strings.Repeat("\x01", maxCall), Timeout: time.Minute, Routes: map[string]Target{
		"a": {Call: `App\Jobs\Grüße::los`, Timeout: 1500 * time.Millisecond}, "b": {Script: `/srv/"quoted".php`}, "worst": {Script: worst},
	}})
	targets := all.targets(newFollower("/nowhere"))
	type header struct {
		Crashes      int
		Call, Script string
		TimeoutMS    int64 `json:"timeout_ms"`
	}
	for typ, want := range map[string]header{
		"a": {3, `App\Jobs\Grüße::los`, "", 1500}, "b": {3, "", `/srv/"quoted".php`, 60000}, "worst": {3, "", worst, 60000},
	} {
		target := targets[all.byType[typ].number]
		var got header
		if err := json.Unmarshal([]byte(`{"crashes":3`+target+`}`), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", typ, got, err)
		}
		if len(target) > targetOverhead || len(target)+jobOverhead > 1<<16-1 {
			t.Errorf("%s: %d bytes", typ, len(target))
		}
	}
	if own := newRoutes(TopicOptions{Script: "/x.php"}).targets(newFollower("")); own[0] != "" {
		t.Errorf("without routes the order says it all, and the frame %q", own[0])
	}
}

// Runs of other routes settle a doubt only when no job of its own was refused for long: else a topic whose job of that
// route has been taken away would run one job at a time for ever.
func TestADoubtInARouteEnds(t *testing.T) {
	o := DefaultTopicOptions()
	o.Topic, o.Routes = "mail", map[string]Target{"a": {Call: "a"}, "b": {Call: "b"}}
	_, topics := openPoolWith(1, o)
	topic := topics[0]
	a, b := topic.routes.byType["a"], topic.routes.byType["b"]
	refuse := func() {
		topic.doubts(ErrNotSeen, b)
		topic.admit()
	}
	state := func(what string, open bool) {
		t.Helper()
		if got := topic.Health() == nil; got != open {
			t.Errorf("%s: open = %v", what, got)
		}
	}
	refuse()
	topic.pool.proven(topic, a)
	state("another route's run", false)
	topic.pool.proven(topic, nil)
	state("a worker's start", false)
	if !topic.onTrial() {
		t.Error("another route's run has used up the trial")
	}
	topic.pool.proven(topic, b)
	state("its own run", true)
	refuse()
	topic.gate.doubt.since = time.Now().Add(-2 * trialEvery)
	topic.pool.proven(topic, a)
	state("another route's run, long after", true)
}
