package dash_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/internal/dash"
)

// form is one that writer's page would send.
func form(pairs ...string) url.Values {
	f := url.Values{"csrf": {writer.CSRF}, "t": {"order_timeout"}, "k": {"dead"}}
	for i := 0; i < len(pairs); i += 2 {
		f.Add(pairs[i], pairs[i+1])
	}
	return f
}

func TestAConfirmationSaysWhatAndHowManyAndChangesNothing(t *testing.T) {
	tests := map[string]struct {
		form url.Values
		want []string
	}{
		"replay two": {form("verb", "replay", "ref", "d0", "ref", "d1"), []string{"1,920 jobs", "ord_web_20261130_788000", `name="ref" value="d1"`, "keep_retry"}},
		"drop one":   {form("verb", "drop", "ref", "d0"), []string{`name="sure"`, `class="danger"`}},
		"drop by filter": {
			form("verb", "drop", "all", "1", "error", "502", "from", "2026-11-30T08:00"),
			[]string{"type the topic&#39;s name", `name="error" value="502"`, `name="from" value="2026-11-30T08:00"`, "Those that match:"},
		},
		"run now":       {form("verb", "requeue", "k", "x", "ref", "p1"), nil},
		"pause a while": {form("verb", "pause", "for", "10m", "reason", "gateway"), []string{"is paused for 10 min", "12,790 jobs wait", `name="for" value="10m"`, "gateway"}},
		"pause":         {form("verb", "pause"), []string{"until somebody resumes it"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "run now" {
				tt.form["k"], tt.want = []string{"pool"}, []string{"due at once"}
			}
			s := busySource(3)
			rec := post(t, s, writer, "confirm", tt.form)
			for _, want := range append(tt.want, `action="act"`, `name="csrf" value="`+writer.CSRF+`"`) {
				if !strings.Contains(rec.Body.String(), want) {
					t.Errorf("page lacks %q", want)
				}
			}
			if rec.Code != http.StatusOK || len(s.asked()) > 0 {
				t.Errorf("status %d, and done: %v", rec.Code, s.asked())
			}
		})
	}
}

func TestAnActDoesWhatWasConfirmedAndLeadsBack(t *testing.T) {
	tests := map[string]struct {
		form url.Values
		done string
		back string
	}{
		"replay":         {form("verb", "replay", "ref", "d0", "ref", "d1", "keep_retry", "1"), "replay order_timeout dead refs=d0,d1 filter={Error: Like: Type: UUID: From:0001-01-01 00:00:00 +0000 UTC To:0001-01-01 00:00:00 +0000 UTC} keep=true", "topic?did=replay&k=dead&n=2&t=order_timeout&undo=u1"},
		"replay matches": {form("verb", "replay", "all", "1", "error", "502"), "replay order_timeout dead refs= filter={Error:502 Like: Type: UUID: From:0001-01-01 00:00:00 +0000 UTC To:0001-01-01 00:00:00 +0000 UTC} keep=false", "topic?did=replay&k=dead&n=2&t=order_timeout&undo=u1"},
		"drop one":       {form("verb", "drop", "ref", "d0", "sure", "1"), "drop order_timeout dead refs=d0 filter={Error: Like: Type: UUID: From:0001-01-01 00:00:00 +0000 UTC To:0001-01-01 00:00:00 +0000 UTC} keep=false", "topic?did=drop&k=dead&n=2&t=order_timeout&undo=u1"},
		"undo":           {form("verb", "undo", "undo", "u1"), "undo u1", "topic?did=undo&k=dead&n=2&t=order_timeout&undo=u1"},
		"pause":          {form("verb", "pause", "for", "90m", "reason", " tests "), `pause order_timeout for 1h30m0s because "tests"`, "topic?did=pause&k=dead&t=order_timeout"},
		"resume":         {form("verb", "resume", "back", "topic?t=order_timeout&k=ready"), "resume order_timeout", "topic?did=resume&k=ready&n=1&t=order_timeout"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := busySource(3)
			rec := post(t, s, writer, "act", tt.form)
			if got := s.asked(); !slices.Equal(got, []string{tt.done}) {
				t.Errorf("did %q, want %q", got, tt.done)
			}
			if got := rec.Header().Get("Location"); rec.Code != http.StatusSeeOther || got != tt.back {
				t.Errorf("%d to %q, want 303 to %q", rec.Code, got, tt.back)
			}
			page := get(t, s, writer, tt.back).Body.String()
			if !strings.Contains(page, `class="note `) || strings.Contains(page, "live=1&amp;n=") {
				t.Error("the page behind it does not say what was done, or says it again and again")
			}
		})
	}
}

// The page may be older than what it shows: somebody else has resumed the topic, or the pause has run out.
func TestAResumeThatEndedNothingSaysSo(t *testing.T) {
	s := busySource(3)
	s.result.Count = 0
	back := post(t, s, writer, "act", form("verb", "resume")).Header().Get("Location")
	page := get(t, s, writer, back).Body.String()
	if !strings.Contains(page, "There was nothing to resume") || strings.Contains(page, "The topic is resumed") || strings.Contains(page, `class="note ok"`) {
		t.Errorf("the page at %s does not say that nothing was resumed", back)
	}
}

func TestADropOfMoreThanOneWantsTheTopicsName(t *testing.T) {
	for name, f := range map[string]url.Values{
		"no name":             form("verb", "drop", "ref", "d0", "ref", "d1"),
		"wrong name":          form("verb", "drop", "all", "1", "name", "order_timeou"),
		"a tick is no name":   form("verb", "drop", "all", "1", "sure", "1"),
		"one without a tick":  form("verb", "drop", "ref", "d0"),
		"one with other name": form("verb", "drop", "ref", "d0", "name", "x"),
	} {
		s := busySource(3)
		rec := post(t, s, writer, "act", f)
		if rec.Code != http.StatusBadRequest || len(s.asked()) > 0 || !strings.Contains(rec.Body.String(), "Nothing was dropped.") {
			t.Errorf("%s: %d, did %v", name, rec.Code, s.asked())
		}
	}
	s := busySource(3)
	if rec := post(t, s, writer, "act", form("verb", "drop", "all", "1", "name", "order_timeout")); rec.Code != http.StatusSeeOther || len(s.asked()) != 1 {
		t.Errorf("with its name: %d, did %v", rec.Code, s.asked())
	}
}

func TestNothingIsDoneForWhomItIsNotAllowed(t *testing.T) {
	stale := form("verb", "replay", "ref", "d0")
	stale.Set("csrf", "of another session")
	missing := form("verb", "replay", "ref", "d0")
	missing.Del("csrf")
	for name, tt := range map[string]struct {
		viewer dash.Viewer
		form   url.Values
	}{
		"reader":         {reader, form("verb", "replay", "ref", "d0")},
		"nobody":         {dash.Viewer{}, form("verb", "replay", "ref", "d0")},
		"stale form":     {writer, stale},
		"form from afar": {writer, missing},
	} {
		for _, path := range []string{"act", "confirm"} {
			s := busySource(3)
			if rec := post(t, s, tt.viewer, path, tt.form); rec.Code != http.StatusForbidden || len(s.asked()) > 0 {
				t.Errorf("%s at %s: %d, did %v", name, path, rec.Code, s.asked())
			}
		}
	}
	for _, path := range []string{"act?verb=drop", "confirm?verb=drop"} {
		if rec := get(t, busySource(3), writer, path); rec.Code == http.StatusOK {
			t.Errorf("GET %s is answered", path)
		}
	}
}

func TestAFormThatMakesNoSenseIsRefusedWithWhatWasWanted(t *testing.T) {
	for want, f := range map[string]url.Values{
		"want replay, drop, requeue": form("verb", "explode", "ref", "d0"),
		"No job is selected":         form("verb", "replay"),
		"10m or 2h":                  form("verb", "pause", "for", "-5 years"),
		"2026-11-30 08:15":           form("verb", "replay", "all", "1", "from", "soon"),
		"not before 1970":            form("verb", "drop", "all", "1", "name", "order_timeout", "error", "x", "to", "0001-01-01T00:00"),
		"requeue is not for":         form("verb", "requeue", "ref", "d0"),
	} {
		s := busySource(3)
		rec := post(t, s, writer, "act", f)
		if rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), want) || len(s.asked()) > 0 {
			t.Errorf("want 400 with %q, got %d, did %v", want, rec.Code, s.asked())
		}
	}
}

func TestAFormLeadsBackToOurPagesOnly(t *testing.T) {
	for _, evil := range []string{"https://evil.example/", "//evil.example/topic", "/topic", "../topic", `\\evil`, "javascript:alert(1)"} {
		rec := post(t, busySource(3), writer, "act", form("verb", "resume", "back", evil))
		if got := rec.Header().Get("Location"); !strings.HasPrefix(got, "topic?") {
			t.Errorf("back to %q leads to %q", evil, got)
		}
	}
}

func TestAFormLargerThanAnyOfOursIsRefused(t *testing.T) {
	s := busySource(3)
	if rec := post(t, s, writer, "act", form("verb", "replay", "ref", strings.Repeat("x", 1<<20))); rec.Code != http.StatusBadRequest || len(s.asked()) > 0 {
		t.Errorf("got %d, did %v", rec.Code, s.asked())
	}
}

func TestWhatRedisSaysAgainstAnActIsShown(t *testing.T) {
	s := busySource(3)
	s.err = fmt.Errorf("%w: OOM command not allowed", dash.ErrRedis)
	if rec := post(t, s, writer, "act", form("verb", "resume")); rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), "OOM command") {
		t.Errorf("got %d: %s", rec.Code, rec.Body)
	}
}

func TestAnActThatStopsHalfwaySaysWhatItDid(t *testing.T) {
	s := busySource(3)
	s.err = dash.HalfwayError{Done: dash.Result{Count: 2}, Err: fmt.Errorf("%w: timeout", dash.ErrRedis)}
	rec := post(t, s, writer, "act", form("verb", "replay", "ref", "x"))
	for _, want := range []string{"done for 2 jobs, not known of one more", "can be taken back there"} {
		if rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("got %d, want %q in %s", rec.Code, want, rec.Body)
		}
	}
}

func TestATopicIsResumedOnlyWhereThatEndsSomethingAndPausedUnlessSomebodyHas(t *testing.T) {
	person, window := &dash.Paused{By: "cli ops@vm", Since: ago(time.Minute)}, &dash.Paused{Window: "02:00-04:00", Since: ago(time.Minute)}
	here, elsewhere := &dash.Breaker{Failures: 20, Error: "x", Here: true}, &dash.Breaker{Failures: 20, Error: "b:2: x"}
	for name, tt := range map[string]struct {
		state          dash.State
		resumes, pause bool
		says           string
	}{
		"nothing":                       {dash.State{}, false, true, ""},
		"a person":                      {dash.State{Paused: person}, true, false, "until somebody resumes it"},
		"a window":                      {dash.State{Paused: window}, false, true, "02:00-04:00"},
		"its own breaker":               {dash.State{Breaker: here}, true, true, "Resuming the topic ends it at once"},
		"another's breaker":             {dash.State{Breaker: elsewhere}, false, true, "resuming the topic here does not end it"},
		"a window, its own breaker":     {dash.State{Paused: window, Breaker: here}, true, true, ""},
		"a person, another's breaker":   {dash.State{Paused: person, Breaker: elsewhere}, true, false, ""},
		"a window, another's breaker":   {dash.State{Paused: window, Breaker: elsewhere}, false, true, ""},
		"a person, and its own breaker": {dash.State{Paused: person, Breaker: here}, true, false, ""},
	} {
		s := busySource(1)
		s.topic.Topic.State = tt.state
		page := get(t, s, writer, "topic?t=order_timeout").Body.String()
		if got := strings.Contains(page, `value="resume"`); got != tt.resumes {
			t.Errorf("%s: Resume is offered: %t", name, got)
		}
		if got := strings.Contains(page, `value="pause"`); got != tt.pause {
			t.Errorf("%s: Pause is offered: %t", name, got)
		}
		if !strings.Contains(strings.ToLower(page), strings.ToLower(tt.says)) {
			t.Errorf("%s: page does not say %q", name, tt.says)
		}
	}
}

func TestDeadJobsOfOneCauseAreCountedShownAndReplayedTogether(t *testing.T) {
	s := busySource(1)
	s.jobs.Causes = dash.Causes{Of: 2000, More: true, List: []dash.Cause{{Error: "order # not found", Count: 1890, First: ago(time.Hour), Last: ago(time.Minute)}, {Count: 2}}}
	page := get(t, s, writer, "topic?t=order_timeout&k=dead").Body.String()
	for _, want := range []string{"By cause, of the newest 2,000", ">1,890<", `href="topic?k=dead&amp;like=order&#43;%23&#43;not&#43;found&amp;t=order_timeout"`, `name="like" value="order # not found"`, "Replay these", "no error is known"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if page := get(t, s, reader, "topic?t=order_timeout&k=dead").Body.String(); strings.Contains(page, "Replay these") || !strings.Contains(page, ">1,890<") {
		t.Error("who may only read is offered a replay, or shown no counts")
	}
	page = get(t, s, writer, "topic?t=order_timeout&k=dead&like=order+%23+not+found").Body.String()
	if !strings.Contains(page, `type="search" name="like" value="order # not found"`) || !strings.Contains(page, "Replay all that match") {
		t.Errorf("the filtered page does not say so")
	}
	asked := s.asked()
	if got := asked[len(asked)-1]; !strings.Contains(got, "Like:order # not found") {
		t.Errorf("asked %s", got)
	}
}
