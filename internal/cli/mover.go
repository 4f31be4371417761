package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/plural"
	"sidecar/internal/undo"
	"sidecar/queue"
)

// moveBudget is how long what is in hand may go on: a batch of moves, or one that is taken back.
const moveBudget = time.Minute

// passesMost bounds how often a source is gone through without a job to move, because it changes all the time.
const passesMost = 10

// errStopped is why a mover ended before it was through.
var errStopped = errors.New("stopped")

// mover replays or drops dead jobs, or requeues those that wait: what its source finds.
type mover struct {
	session
	source
	moveOptions
	env      Env
	act      *undo.Act
	progress *progress

	total int // how many it is to move, as counted before
	moved int
	left  leftJobs
	done  sums // uuids moved: a job that dies again meanwhile is not moved again
	dated sums // texts requeued: one that nobody takes is met again, with the time it was given

	follow *follower // nil: what becomes of the jobs is not waited for
}

// moveOptions are what a mover is asked for.
type moveOptions struct {
	verb    string // queue.VerbReplay, queue.VerbDrop, queue.VerbRequeue
	opts    queue.ReplayOptions
	requeue queue.RequeueOptions
	limit   int // 0 = all
	pace    pace
	undoDir string
	eachOne bool // say of each job that it was moved
}

// newDeadMover returns the mover of what a search in dead finds.
func newDeadMover(env Env, rdb redis.UniversalClient, d deadSearch, what moveOptions) *mover {
	d.query.Oldest = true // what is taken out of the middle is replaced by the oldest (docs/decisions/0021)
	return newMover(env, rdb, d.session, d.source(), what)
}

func newMover(env Env, rdb redis.UniversalClient, s session, from source, what moveOptions) *mover {
	order := undo.Order{
		Head: undo.Head{
			Verb: what.verb, Topic: s.topic.Name, KeyPrefix: s.cfg.Redis.KeyPrefix, Redis: new(queue.HomeOf(s.cfg.Redis, hostname())), At: from.now, By: who(), Filter: from.filter,
		},
		Replay: what.opts, Requeue: what.requeue, Zone: s.cfg.Timezone, Patience: redisPatience,
	}
	if len(from.uuids) == 1 {
		order.UUID = compat.PlainUUID(from.uuids[0])
	}
	return &mover{
		session: s, source: from, moveOptions: what, env: env, progress: newProgress(env), done: make(sums), dated: make(sums), left: newLeftJobs(),
		act: undo.NewAct(s.store, queue.NewAudit(rdb, s.cfg.Redis.KeyPrefix), order),
	}
}

// planned are the moves of all that is to be moved, up to the limit. It moves nothing.
func (m *mover) planned(ctx context.Context) iter.Seq2[queue.HandMove, error] {
	return func(yield func(queue.HandMove, error) bool) {
		n := 0
		for e, err := range m.entries(ctx, m.progress) {
			move, ok := queue.HandMove{}, false
			if err == nil {
				move, ok, err = m.plan(ctx, e)
			}
			if err != nil {
				yield(move, err)
				return
			}
			if !ok {
				continue
			}
			if n++; !yield(move, nil) || n == m.limit {
				return
			}
		}
	}
}

// count counts what is to be moved. A dry run tells of each, and that is all it does.
func (m *mover) count(ctx context.Context, dryRun bool) error {
	for move, err := range m.planned(ctx) {
		if err != nil {
			return err
		}
		m.total++
		if dryRun {
			fmt.Fprintf(m.env.Stdout, "would %s %s\n", m.verb, move.Name())
		}
	}
	if dryRun {
		m.left.print(m.env.Stderr)
		fmt.Fprintf(m.env.Stdout, "would %s %s\n", m.verb, plural.Of(m.total, "job", "jobs"))
	}
	return nil
}

// run moves all there is to move, up to the limit. Where it ends early, what it has done is counted all the same.
func (m *mover) run(ctx context.Context) error {
	defer m.progress.done()
	if m.total == 0 {
		return nil
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	for idle := 0; m.more() && idle < passesMost; idle++ {
		before := m.moved
		unsure, err := m.pass(ctx)
		if ctx.Err() != nil {
			return errStopped
		}
		if err != nil {
			return err
		}
		// What was taken out may have moved the rest past the search: it is through when it has seen all and took none.
		if m.moved == before && !unsure {
			return nil
		}
		if m.moved > before {
			idle = 0
		}
	}
	return nil
}

// begin opens the undo file: where it was asked for, else where the dashboard finds it.
func (m *mover) begin(ctx context.Context) error {
	dir, err := filepath.Abs(m.undoDir) // what is told, and stands in the trail, is to be found from anywhere
	if err != nil {
		return fmt.Errorf("--undo-dir: %w", err)
	}
	if m.undoDir == "" {
		dir = m.usualPlace()
	}
	if err := m.act.Begin(ctx, dir, m.total); err != nil {
		return err
	}
	warnUntold(m.env, m.act.Untold())
	return nil
}

// usualPlace is the dashboard's directory for undo files, or where that cannot be written the one we are in, or where that cannot
// either the one for temporary files.
func (m *mover) usualPlace() string {
	for _, dir := range []string{m.cfg.Admin.UndoDir, "."} {
		if undo.CheckPlace(dir) == nil {
			if whole, err := filepath.Abs(dir); err == nil {
				return whole
			}
		}
	}
	fmt.Fprintf(m.env.Stderr, "neither admin.undo_dir (%s) nor this directory can be written: the undo file goes to %s, which may be emptied when the host starts; --undo-dir names another\n",
		m.cfg.Admin.UndoDir, os.TempDir())
	return os.TempDir()
}

// more reports that there may be more to move. Jobs that died since it was counted are for the next time.
func (m *mover) more() bool { return m.moved < m.total }

// pass goes through its source once and moves what is to be moved. unsure reports that some may have been passed over.
func (m *mover) pass(ctx context.Context) (unsure bool, err error) {
	for found, err := range m.found(ctx) {
		if err != nil {
			return unsure, err
		}
		if err := m.step(ctx, found.Entries); err != nil || !m.more() {
			return found.Unsure, err
		}
		unsure = found.Unsure
	}
	return unsure, nil
}

// step moves what one step of the search has found, batch by batch.
func (m *mover) step(ctx context.Context, found []queue.Entry) error {
	var moves []queue.HandMove
	for i, e := range found {
		if m.moved+len(moves) < m.total {
			move, ok, err := m.planOnce(ctx, e)
			if err != nil {
				return err
			}
			if ok {
				moves = append(moves, move)
			}
		}
		if len(moves) == m.pace.batch() || i == len(found)-1 && len(moves) > 0 {
			if !m.pace.wait(ctx, len(moves)) {
				return errStopped
			}
			if err := m.move(ctx, moves); err != nil {
				return err
			}
			moves = nil
		}
	}
	return nil
}

// planOnce is plan for a job whose uuid was not moved yet.
func (m *mover) planOnce(ctx context.Context, e queue.Entry) (queue.HandMove, bool, error) {
	if m.dated.has(e.Stored) {
		return queue.HandMove{}, false, nil // moved once more it would lose the time that undo gives back
	}
	if m.verb != queue.VerbDrop && e.UUID != "" && m.done.has(e.UUID) {
		m.left[m.returned()].add(e.Stored)
		return queue.HandMove{}, false, nil
	}
	return m.plan(ctx, e)
}

// returned says why a job is left whose uuid was moved before.
func (m *mover) returned() whyLeft {
	if m.verb == queue.VerbRequeue {
		return waitsAgain
	}
	return again
}

// plan returns the move for e. ok is false, and that is counted, where e cannot be replayed.
func (m *mover) plan(ctx context.Context, e queue.Entry) (move queue.HandMove, ok bool, err error) {
	move, err = m.act.Plan(ctx, e)
	switch {
	case errors.Is(err, queue.ErrNoJob):
		m.left[noJob].add(e.Stored)
		return move, false, nil
	case errors.Is(err, compat.ErrNotRecord):
		m.left[unreadable].add(e.Stored)
		return move, false, nil
	}
	return move, err == nil, err
}

// move makes a batch. Once it has begun it goes on, whoever wants it to end.
func (m *mover) move(ctx context.Context, moves []queue.HandMove) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), moveBudget)
	defer cancel()
	results, err := m.act.Make(ctx, moves)
	for i, r := range results {
		m.note(moves[i], r)
	}
	m.progress.tell("%s %d of %s", past(m.verb), m.moved, plural.Of(m.total, "job", "jobs"))
	return err
}

// remember keeps by what the job is known if it is met again.
func (m *mover) remember(move queue.HandMove) {
	if move.UUID != "" {
		m.done.add(move.UUID)
	}
	if m.verb == queue.VerbRequeue {
		m.dated.add(string(move.Record))
	}
}

func (m *mover) note(move queue.HandMove, r queue.MoveResult) {
	switch r {
	case queue.Taken, queue.TakenBefore:
		if m.moved++; m.moved == 1 {
			m.progress.done()
			fmt.Fprintf(m.env.Stderr, "%s takes this back\n", sidecarLine(m.cfg, "dead", "undo", m.act.Path()))
		}
		m.remember(move)
		if m.follow != nil {
			m.follow.add(move)
		}
		if m.eachOne {
			fmt.Fprintf(m.env.Stdout, "%s %s\n", past(m.verb), move.Name())
		}
	case queue.TwinWaits:
		m.left[twin].add(string(move.Record))
	case queue.NotThere: // gone finds it
	}
}
