package undo_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/internal/undo"
	"sidecar/queue"
)

const (
	deadKey = "delay:dead:mail"
	poolKey = "delay:pool:mail"
)

// morgue is a topic with nothing but dead jobs.
type morgue struct {
	t      *testing.T
	server *testenv.RedisServer
	rdb    redis.UniversalClient
	store  *queue.Store
	dir    string
}

func newMorgue(t *testing.T, jobs int, options ...string) morgue {
	t.Helper()
	server := testenv.Redis(t, options...)
	rdb, err := queue.OpenWatch(queue.RedisOptions{URL: server.URL()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	m := morgue{t, server, rdb, queue.NewStore(rdb, "", opts), t.TempDir()}
	for i := range jobs {
		record := fmt.Sprintf(`{"job":{"uuid":"%c","retry":6},"error":"no money","trace":"","at":"2026-11-29 12:00:00"}`, 'a'+i)
		if err := rdb.RPush(t.Context(), deadKey, record).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m morgue) act(verb string) *undo.Act {
	return undo.NewAct(m.store, queue.NewAudit(m.rdb, ""), undo.Order{
		Head: undo.Head{Verb: verb, Topic: "mail", By: "cli ann@web1", At: time.Unix(1796040000, 0)}, Zone: time.UTC, Patience: time.Second,
	})
}

// begin begins an act that moves all dead jobs.
func (m morgue) begin(verb string) (*undo.Act, []queue.HandMove) {
	m.t.Helper()
	act := m.act(verb)
	page, err := m.store.Peek(m.t.Context(), queue.InDead, queue.Page{Limit: 100})
	if err != nil {
		m.t.Fatal(err)
	}
	var moves []queue.HandMove
	for _, e := range page.Entries {
		move, err := act.Plan(m.t.Context(), e)
		if err != nil {
			m.t.Fatal(err)
		}
		moves = append(moves, move)
	}
	if err := act.Begin(m.t.Context(), m.dir, len(moves)); err != nil {
		m.t.Fatal(err)
	}
	return act, moves
}

// takeBack takes back all that the file at path says, and returns how often each came out.
func (m morgue) takeBack(path string) map[queue.UndoResult]int {
	m.t.Helper()
	log, err := undo.Open(path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer log.Close() // it was synced
	counts := make(map[queue.UndoResult]int)
	for moves, err := range log.Pending(2) {
		results, backErr := log.TakeBack(m.t.Context(), m.store, moves, time.Second)
		if err := errors.Join(err, backErr); err != nil {
			m.t.Fatal(err)
		}
		for _, r := range results {
			counts[r]++
		}
	}
	return counts
}

func (m morgue) dead() []string { return m.rdb.LRange(m.t.Context(), deadKey, 0, -1).Val() }

// trail are the audit lines, the newest first, and which of them name a file.
func (m morgue) trail() (lines []string) {
	audited, err := queue.NewAudit(m.rdb, "").Recent(m.t.Context(), 10)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, a := range audited {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %d %t %s", a.Verb, a.Count, a.File != "", a.Note)))
	}
	return lines
}

func (m morgue) wantFiles(want int) {
	m.t.Helper()
	if found, err := filepath.Glob(filepath.Join(m.dir, "*")); err != nil || len(found) != want {
		m.t.Errorf("files %q, %v; want %d", found, err, want)
	}
}

func TestAnActIsTakenBackOnce(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{queue.VerbReplay, queue.VerbDrop} {
		m := newMorgue(t, 5)
		before := m.dead()
		act, moves := m.begin(verb)
		for batch := range slices.Chunk(moves, 2) {
			if results, err := act.Make(t.Context(), batch); err != nil || len(results) != len(batch) {
				t.Fatalf("%s: %v, %v", verb, results, err)
			}
		}
		if err := act.Close(t.Context()); err != nil || act.Untold() != nil || len(m.dead()) != 0 {
			t.Errorf("%s: %v, untold %v, left %q", verb, err, act.Untold(), m.dead())
		}
		for _, want := range []map[queue.UndoResult]int{{queue.Restored: 5}, {}} {
			if got := m.takeBack(act.Path()); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: taken back %v, want %v", verb, got, want)
			}
		}
		after := m.dead()
		slices.Sort(after)
		if n := m.rdb.Exists(t.Context(), poolKey).Val(); !slices.Equal(after, before) || n != 0 {
			t.Errorf("%s: dead holds %q", verb, after)
		}
		if got, want := m.trail(), []string{verb + " 5 true"}; !slices.Equal(got, want) {
			t.Errorf("the trail is %q, want %q", got, want)
		}
	}
}

func TestAnActBesideAnotherOneMovesWhatIsLeft(t *testing.T) {
	t.Parallel()
	m := newMorgue(t, 3)
	act, moves := m.begin(queue.VerbDrop)
	m.rdb.LPop(t.Context(), deadKey)
	results, err := act.Make(t.Context(), moves)
	if err := errors.Join(err, act.Close(t.Context())); err != nil || len(m.dead()) != 0 {
		t.Errorf("%v, left %q", err, m.dead())
	}
	slices.Sort(results)
	if want := []queue.MoveResult{queue.Taken, queue.Taken, queue.NotThere}; !slices.Equal(results, want) {
		t.Errorf("got %v, want %v", results, want)
	}
	if got, want := m.trail(), []string{"drop 2 true of 3 that were begun", "drop 3 true"}; !slices.Equal(got, want) {
		t.Errorf("the trail is %q, want %q", got, want)
	}
	if got := m.takeBack(act.Path()); got[queue.Restored] != 2 || len(got) != 1 {
		t.Errorf("taken back %v", got)
	}
}

func TestAnActThatMovedNothingLeavesNoFile(t *testing.T) {
	t.Parallel()
	m := newMorgue(t, 2)
	act, moves := m.begin(queue.VerbDrop)
	m.rdb.Del(t.Context(), deadKey)
	_, err := act.Make(t.Context(), moves)
	if err := errors.Join(err, act.Close(t.Context())); err != nil || act.Path() != "" {
		t.Errorf("%v, a file %q", err, act.Path())
	}
	m.wantFiles(0)
	if got, want := m.trail(), []string{"drop 0 false of 2 that were begun", "drop 2 true"}; !slices.Equal(got, want) {
		t.Errorf("the trail is %q, want %q", got, want)
	}
}

// Redis hangs: what it was asked last may have been done, and nothing behind it was begun.
func TestAnActAtARedisThatHangsSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	m := newMorgue(t, 3)
	act, moves := m.begin(queue.VerbDrop)
	if results, err := act.Make(t.Context(), moves[:1]); err != nil || len(results) != 1 {
		t.Fatalf("%v, %v", results, err)
	}
	resume := m.server.Pause()
	began := time.Now()
	results, err := act.Make(t.Context(), moves[1:])
	closeErr := act.Close(t.Context())
	took := time.Since(began)
	resume()
	if len(results) != 0 || queue.FaultOf(err) != queue.Network || closeErr != nil || act.Untold() == nil {
		t.Errorf("%v, %v; closed %v, untold %v", results, err, closeErr, act.Untold())
	}
	if took > 5500*time.Millisecond { // it is patient for a second each time; its client would be for 3, twice
		t.Errorf("it took %s", took)
	}
	testenv.Poll(t, 10*time.Second, "what was asked for while it hung", func() bool { return len(m.dead()) <= 2 })
	n := len(m.dead()) // 2, or 1 where the second one came through
	if got := m.takeBack(act.Path()); got[queue.Restored] != 3-n || got[queue.NeverTaken] != n {
		t.Errorf("taken back %v of %d", got, 3-n)
	}
	if len(m.dead()) != 3 {
		t.Errorf("dead holds %q", m.dead())
	}
}

func TestNothingBeginsAtARedisThatIsGone(t *testing.T) {
	t.Parallel()
	m := newMorgue(t, 1)
	m.server.Stop()
	if err := m.act(queue.VerbDrop).Begin(t.Context(), m.dir, 1); !queue.FaultOf(err).OfServer() {
		t.Errorf("begun: %v", err)
	}
	m.wantFiles(0)
}

// Who may not write the trail is told so, and moves all the same.
func TestAnActGoesWithoutATrail(t *testing.T) {
	t.Parallel()
	m := newMorgue(t, 1)
	m.rdb.Set(t.Context(), "sidecar:audit", "in the way", 0)
	act, moves := m.begin(queue.VerbDrop)
	results, err := act.Make(t.Context(), moves)
	if err := errors.Join(err, act.Close(t.Context())); err != nil || len(results) != 1 || queue.FaultOf(act.Untold()) != queue.WrongType {
		t.Errorf("%v, %v, untold %v", results, err, act.Untold())
	}
}

func TestAnActThatIsStoppedBeginsNoFurtherMove(t *testing.T) {
	t.Parallel()
	m := newMorgue(t, 2)
	act, moves := m.begin(queue.VerbDrop)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results, err := act.Make(ctx, moves)
	if closeErr := act.Close(ctx); !errors.Is(err, context.Canceled) || closeErr != nil || len(results) != 0 || len(m.dead()) != 2 {
		t.Errorf("%v, %v, %v; dead holds %q", results, err, closeErr, m.dead())
	}
	m.wantFiles(0)
}

// What a job that cannot be kept looks like: as it was before, and nothing is left behind.
func TestNothingIsMovedThatCannotBeKept(t *testing.T) {
	t.Parallel()
	m := newMorgue(t, 1)
	m.dir = filepath.Join(m.dir, "none")
	if err := m.act(queue.VerbDrop).Begin(t.Context(), m.dir, 1); !errors.Is(err, undo.ErrNotKept) || len(m.dead()) != 1 || m.trail() != nil {
		t.Errorf("begun: %v; dead holds %q, the trail %q", err, m.dead(), m.trail())
	}
}
