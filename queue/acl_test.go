package queue_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// aclRules returns the rules of the users that docs/redis-user.md shows, in order, without name and password.
func aclRules(t *testing.T) [][]any {
	t.Helper()
	page, err := os.ReadFile("../docs/redis-user.md")
	if err != nil {
		t.Fatal(err)
	}
	var all [][]any
	for _, m := range regexp.MustCompile(`(?m)^ACL SETUSER [a-z]+ on ><password> (.+)$`).FindAllStringSubmatch(string(page), -1) {
		var rules []any
		for word := range strings.FieldsSeq(m[1]) {
			rules = append(rules, word)
		}
		all = append(all, rules)
	}
	if len(all) != 4 {
		t.Fatalf("the page shows %d users, want the least, the usual, the lists' and the Sentinels' one", len(all))
	}
	return all
}

// useEverything calls every method of the Store once.
func useEverything(t *testing.T, s *queue.Store) error {
	t.Helper()
	ctx := t.Context()
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	note(s.Check(ctx))
	for _, text := range []string{`{"uuid":"a"}`, `{"uuid":"b"}`, `{"uuid":"c"}`, "no job"} {
		note(s.Push(ctx, text, 0))
	}
	_, err := s.Promote(ctx)
	note(err)
	claims, err := s.Claim(ctx, 4)
	note(err)
	if len(claims.List) != 4 {
		return err
	}
	of := func(i int) (string, queue.Lease) { return claims.List[i].Text, claims.List[i].Lease }
	text, lease := of(3)
	_, err = s.Renew(ctx, []queue.Renewal{{Text: text, Held: lease, Next: lease}})
	note(err)
	_, err = s.DoneBefore(ctx, []string{"a"})
	note(err)
	text, lease = of(0)
	_, err = s.Complete(ctx, []queue.Completion{{Text: text, Held: lease, UUID: "a"}})
	note(err)
	text, lease = of(1)
	_, err = s.Requeue(ctx, []queue.Requeueing{{Text: text, Held: lease, NewText: text, Delay: time.Hour, UUID: "b"}})
	note(err)
	text, lease = of(2)
	_, err = s.Bury(ctx, []queue.Burial{{Text: text, Held: lease, Record: deadRecord(text), UUID: "c"}})
	note(err)
	text, lease = of(3)
	_, err = s.Bury(ctx, []queue.Burial{{Text: text, Held: lease, Record: "no record"}})
	note(err)
	_, err = s.Replay(ctx, 2, true, time.UTC)
	note(err)
	_, err = s.Replay(ctx, 2, false, time.UTC)
	note(err)
	_, _, err = s.Expired(ctx, 10)
	note(err)
	_, err = s.Depths(ctx)
	note(err)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// useSingleJobs calls every method of the Store that is for people who look at single jobs and move them.
func useSingleJobs(t *testing.T, s *queue.Store) error {
	t.Helper()
	ctx := t.Context()
	if err := s.Push(ctx, `{"uuid":"later"}`, time.Hour); err != nil {
		return err
	}
	for _, place := range queue.Places() {
		p, err := s.Peek(ctx, place, queue.Page{Limit: 5})
		if err != nil {
			return err
		}
		for _, e := range p.Entries {
			if _, err := s.Entry(ctx, e.Ref()); err != nil {
				return err
			}
		}
	}
	list, _ := searchAll(t, s, queue.Query{UUID: "later"}, nil)
	if _, err := s.RunNow(ctx, list[0]); err != nil {
		return err
	}
	if err := s.Push(ctx, `{"uuid":"much later"}`, 2*time.Hour); err != nil {
		return err
	}
	if got := waiting(t, s, queue.WaitingQuery{}); !slices.Contains(got, "much later") {
		return fmt.Errorf("%q wait", got)
	}
	m := requeueOne(t, s, "much later")
	if _, err := s.Promote(ctx); err != nil {
		return err
	}
	if r, err := s.Undo(ctx, m, false); err != nil || r != queue.Restored {
		return fmt.Errorf("%s: %w", r, err)
	}
	for _, near := range []int64{0, 10_000} {
		queue.SetNearEnd(s, near)
		m := dropOne(t, s, peekAll(t, s, queue.InDead, 5)[0])
		if r, err := s.Undo(ctx, m, false); err != nil || r != queue.Restored {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	return nil
}

// C109: a user with exactly the rights that the page names may do all that the sidecar does.
func TestTheLeastUserOfThePageRunsEverything(t *testing.T) {
	for i, rules := range aclRules(t)[:2] {
		b := newBench(t, nil)
		user := asUser(t, b, rules...)
		opts := queue.DefaultOptions()
		opts.Topic, opts.Idempotency = "mail", queue.IdempotencyOn
		if err := useEverything(t, queue.NewStore(user.rdb, "", opts)); err != nil {
			t.Errorf("user %d: %v", i, err)
		}
		warnings, err := queue.CheckServer(t.Context(), user.rdb, "", topicsOf("mail"))
		if err != nil || len(warnings) != 1-i {
			t.Errorf("user %d: %q, %v; want only the least one to be told of what cannot be seen", i, warnings, err)
		}
		w := startWaker(t, user.rdb, "", "mail")
		if i == 1 {
			if err := useSingleJobs(t, queue.NewStore(user.rdb, "", opts)); err != nil {
				t.Errorf("user %d: %v", i, err)
			}
			if err := queue.NewAudit(user.rdb, "").Add(t.Context(), queue.Audited{Verb: "drop"}); err != nil {
				t.Errorf("user %d: %v", i, err)
			}
			active(t, w, "mail")
			usePauses(t, queue.NewPauses(user.rdb, ""))
			useHeartbeats(t, user.rdb)
			useAlerts(t, queue.NewAlerts(user.rdb, ""))
		}
		for _, line := range log(t, b) {
			t.Errorf("user %d was refused %s", i, line)
		}
	}
}

// usePauses calls every method of Pauses once.
func usePauses(t *testing.T, p *queue.Pauses) {
	t.Helper()
	_, setErr := p.Set(t.Context(), "mail", 0, "cli", "")
	all, _, allErr := p.All(t.Context())
	_, found, clearErr := p.Clear(t.Context(), "mail")
	if err := errors.Join(setErr, allErr, clearErr); err != nil || len(all) != 1 || !found {
		t.Errorf("pauses: %v, found %v and %t", err, all, found)
	}
}

// useHeartbeats calls every method of Heartbeats and Minutes once.
func useHeartbeats(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	if err := rdb.HSet(t.Context(), "sidecar:alive", "old", `{"at":"2026-01-01T00:00:00Z"}`, "unread", "{}").Err(); err != nil {
		t.Error(err)
	}
	_, beatErr := queue.NewHeartbeats(rdb, "").Beat(t.Context(), queue.Heartbeat{Instance: "a"})
	all, allErr := queue.NewHeartbeats(rdb, "").All(t.Context())
	putErr := queue.NewMinutes(rdb, "").Put(t.Context(), "a", queue.Minute{At: 1})
	found, ofErr := queue.NewMinutes(rdb, "").Of(t.Context(), "a", []int64{1})
	there, anyErr := queue.NewMinutes(rdb, "").Any(t.Context(), "a")
	if err := errors.Join(beatErr, allErr, putErr, ofErr, anyErr); err != nil || len(all) != 2 || len(found) != 1 || !there {
		t.Errorf("heartbeats: %v, found %d and %d minutes", err, len(all), len(found))
	}
}

// useAlerts calls every method of Alerts once.
func useAlerts(t *testing.T, a *queue.Alerts) {
	t.Helper()
	_, nowErr := a.Now(t.Context())
	added, addErr := a.Swap(t.Context(), queue.AlertAlarms, "backlog|mail", "", "x")
	fields, readErr := a.Read(t.Context(), queue.AlertAlarms)
	gone, goneErr := a.Swap(t.Context(), queue.AlertAlarms, "backlog|mail", "x", "")
	if err := errors.Join(nowErr, addErr, readErr, goneErr); err != nil || !added || len(fields) != 1 || !gone {
		t.Errorf("alerts: %v, added %t, read %q, gone %t", err, added, fields, gone)
	}
}

// log returns what the server has refused, except what a user with the least rights is refused on purpose.
func log(t *testing.T, b bench) []string {
	t.Helper()
	entries, err := b.rdb.Do(context.WithoutCancel(t.Context()), "ACL", "LOG").Slice()
	if err != nil {
		t.Fatal(err)
	}
	var refused []string
	for _, entry := range entries {
		var object, kind string
		switch e := entry.(type) {
		case map[any]any:
			object, _ = e["object"].(string)
			kind, _ = e["reason"].(string)
		case []any:
			for i := 0; i+1 < len(e); i += 2 {
				switch e[i] {
				case "object":
					object, _ = e[i+1].(string)
				case "reason":
					kind, _ = e[i+1].(string)
				}
			}
		}
		optional := []string{"hello", "info", "config|get", "exists", "scan", "client|id", "client", "lpos", "ping"}
		if !slices.Contains(optional, object) {
			refused = append(refused, kind+" "+object)
		}
	}
	return refused
}

// C109: each right of the least user is needed, and what is missing is named before a job is claimed.
func TestEachRightTakenAwayIsNamed(t *testing.T) {
	least := aclRules(t)[0]
	b := newBench(t, nil)
	for _, right := range least {
		word, _ := right.(string)
		user := asUser(t, b, slices.DeleteFunc(slices.Clone(least), func(r any) bool { return r == right })...)
		opts := queue.DefaultOptions()
		opts.Topic, opts.Idempotency = "mail", queue.IdempotencyOn
		_, serverErr := queue.CheckServer(t.Context(), user.rdb, "", nil)
		err := queue.NewStore(user.rdb, "", opts).Check(t.Context())
		name := strings.TrimRight(strings.TrimLeft(word, "+~"), "*")
		if err == nil && serverErr == nil {
			t.Errorf("without %s nothing is said", word)
			continue
		}
		said := ""
		for _, e := range []error{serverErr, err} {
			if e != nil {
				said += e.Error() + "\n"
			}
		}
		if !strings.Contains(strings.ToLower(said), name) {
			t.Errorf("without %s: %s", word, said)
		}
	}
	if n := b.do(t, "DBSIZE"); n != int64(0) {
		t.Errorf("%v keys were left behind", n)
	}
}

// What Sentinels want their user to be allowed is on the page, too.
func TestTheSentinelsUserOfThePageFindsTheMaster(t *testing.T) {
	master := testenv.Redis(t)
	sentinel := testenv.Sentinel(t, master, "jobs")
	rules := append([]any{"ACL", "SETUSER", "watcher", "on", ">secret"}, aclRules(t)[3]...)
	testenv.Do(t, sentinel, rules...)
	rdb := open(t, queue.RedisOptions{
		Addrs: []string{sentinel.Addr}, Sentinel: "jobs", SentinelUsername: "watcher", SentinelPassword: "secret",
	}, "mail")
	wantPing(t, rdb)
	testenv.Poll(t, patience, "the client to hear of failovers", func() bool {
		list, _ := testenv.Do(t, sentinel, "CLIENT", "LIST").(string)
		return strings.Contains(list, "sub=2 ")
	})
	if entries, _ := testenv.Do(t, sentinel, "ACL", "LOG").([]any); len(entries) != 0 {
		t.Errorf("it was refused %v", entries)
	}
}
