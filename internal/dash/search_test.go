package dash_test

import (
	"strings"
	"testing"

	"sidecar/internal/dash"
)

func TestASearchShowsWhatIsReadyInTheOrderInWhichItRuns(t *testing.T) {
	s := busySource(1)
	s.steps = []dash.SearchStep{{Now: fakeNow, Found: []dash.JobRow{
		{Ref: "r3", Topic: "mail", Key: dash.KeyReady, UUID: "third", Ahead: 2},
		{Ref: "r1", Topic: "mail", Key: dash.KeyReady, UUID: "first"},
		{Ref: "r2", Topic: "mail", Key: dash.KeyReady, UUID: "second", Ahead: 1},
		{Ref: "p1", Topic: "mail", Key: dash.KeyPool, UUID: "never", Never: true},
		{Ref: "p2", Topic: "mail", Key: dash.KeyPool, UUID: "tomorrow", Due: fakeNow.AddDate(0, 0, 1)},
	}}}
	page := get(t, s, dash.Viewer{}, "search?q=x&how=prefix").Body.String()
	last := -1
	for _, uuid := range []string{"tomorrow", "never", "first", "second", "third"} {
		at := strings.Index(page, "<bdi>"+uuid+"</bdi>")
		if at < last || at < 0 {
			t.Errorf("%s stands at %d, behind %d", uuid, at, last)
		}
		last = at
	}
}
