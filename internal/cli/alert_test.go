package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sidecar/queue"
)

// withTargets adds a target to the shop's configuration for each answer, t0, t1 …, and returns what they take.
func (s shop) withTargets(answers ...string) (shop, <-chan string) {
	s.t.Helper()
	took := make(chan string, 10)
	more := ""
	for i, answer := range answers {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			took <- string(body)
			_, _ = io.WriteString(w, answer)
		}))
		s.t.Cleanup(server.Close)
		more += fmt.Sprintf("[alert.target.t%d]\nkind = \"wecom\"\nurl = %q\n", i, server.URL+"/send?key=not-to-be-seen")
	}
	s.config = s.with(more)
	return s, took
}

func TestAlertTestSendsAMessageAndShowsTheAnswer(t *testing.T) {
	t.Parallel()
	s, took := newShop(t).withTargets(`{"errcode":0,"errmsg":"ok"}`, `{"errcode":93000,"errmsg":"invalid key=not-to-be-seen"}`)
	s.verb(0, []string{`t0 (wecom): sent; it says: HTTP 200 {"errcode":0,"errmsg":"ok"}`}, "alert", "test", "t0")
	if body := <-took; !strings.Contains(body, "TEST") || !strings.Contains(body, "sidecar") {
		t.Errorf("sent %s", body)
	}
	shown := s.verb(1, []string{"t0 (wecom): sent", "t1 (wecom): code 93000: invalid key=[hidden]"}, "alert", "test")
	if strings.Contains(shown, "not-to-be-seen") {
		t.Errorf("shows the address: %s", shown)
	}
	s.verb(2, []string{`no target "t2" (did you mean`, "there are: t0, t1"}, "alert", "test", "t2")
	newShop(t).verb(2, []string{"has no table [alert.target.<name>]: nobody is told"}, "alert", "test")
}

func TestAlertListShowsWhatFiresAndWhatIsSilent(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t).withTargets("")
	s.verb(0, []string{"no alarm", "t0", "wecom"}, "alert", "list")
	ledger := queue.NewAlerts(s.Client, "")
	since := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	text, err := json.Marshal(queue.Alarm{
		Rule: "backlog", Subject: "order_timeout", Severity: "warning", Since: since, Seen: since, Told: map[string]time.Time{"t0": since},
		Readings: []queue.AlarmReading{{Condition: "backlog", Value: 1532, Limit: 1000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Swap(t.Context(), queue.AlertAlarms, queue.AlarmField("backlog", "order_timeout"), "", string(text)); err != nil {
		t.Fatal(err)
	}
	s.verb(0, []string{"order_timeout is silent until 20"}, "alert", "silence", "order_timeout", "--for", "2h")
	shown := s.verb(0, []string{"RULE", "backlog", "order_timeout", "firing", "t0", "jobs due and ready: 1532 > 1000", "SILENCED", "cli "}, "alert", "list")
	if strings.Contains(shown, "not-to-be-seen") {
		t.Errorf("shows the address: %s", shown)
	}
	var list struct {
		Alarms []struct {
			Rule, State   string
			SilencedUntil time.Time `json:"silenced_until"`
		}
	}
	if err := json.Unmarshal([]byte(s.verb(0, nil, "alert", "list", "--json")), &list); err != nil || len(list.Alarms) != 1 ||
		list.Alarms[0].State != "firing" || list.Alarms[0].SilencedUntil.IsZero() {
		t.Errorf("JSON: %v %+v", err, list)
	}
	audited, err := queue.NewAudit(s.Client, "").Recent(t.Context(), 10)
	if err != nil || len(audited) != 1 || audited[0].Verb != "silence" || audited[0].Filter != "order_timeout" || audited[0].Note != "for 2h0m0s" {
		t.Errorf("audit: %v %+v", err, audited)
	}
	s.verb(0, []string{"order_timeout is silent no more"}, "alert", "silence", "order_timeout", "--for", "0s")
	if shown := s.verb(0, nil, "alert", "list"); strings.Contains(shown, "SILENCED\n") || strings.Contains(shown, "cli ") {
		t.Errorf("still silent: %s", shown)
	}
	s.verb(2, []string{`no rule, topic, list or pool "backlgo" (did you mean "backlog"?)`}, "alert", "silence", "backlgo")
	s.verb(2, []string{"--for 1000h0m0s: want 0s to 720h0m0s"}, "alert", "silence", "backlog", "--for", "1000h")
	s.verb(2, []string{"want the name of a rule"}, "alert", "silence")
}
