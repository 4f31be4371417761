package spool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"sidecar/queue"
)

// Inlet adds rows to Redis: each once, however often it is offered. It is [queue.Inlet].
type Inlet interface {
	Spool(ctx context.Context, s queue.Spooling) (queue.Spooled, error)
}

// Drainer brings a table's rows in.
type Drainer struct {
	opts  Options
	table *Table
	inlet Inlet
	units map[string]queue.ScoreUnit
}

// NewDrainer returns a Drainer of table. units are those of the pools, by key, whose scores are not in milliseconds.
func NewDrainer(opts Options, table *Table, inlet Inlet, units map[string]queue.ScoreUnit) *Drainer {
	return &Drainer{opts: opts, table: table, inlet: inlet, units: units}
}

// Progress is how far a Pass has come.
type Progress struct {
	Added  int // rows whose jobs went in
	Before int // rows whose jobs were in already: an earlier pass was cut off before it could delete them
	Held   int // rows that cannot come in, see the errors, and rows of the same keys behind them
}

// Pass is one way through the table, from its oldest row on.
type Pass struct {
	d     *Drainer
	limit int // rows it may still bring in; < 0: any number
	pace  pace

	after int64           // rows up to here stay where they are
	lift  int64           // readings are to have numbers above this
	gone  []rowID         // in Redis, and not deleted yet
	held  map[string]bool // keys of which a row was refused: what is behind it waits, too
	stay  map[int64]bool  // rows that stay where they are
	done  Progress
	errs  []error
}

// Begin returns a new Pass for at most limit rows, 0 for all. rate overrules the options' where it is not negative.
func (d *Drainer) Begin(limit, rate int) *Pass {
	if limit == 0 {
		limit = -1
	}
	if rate < 0 {
		rate = d.opts.Rate
	}
	return &Pass{d: d, limit: limit, pace: pace{rate: rate}, held: make(map[string]bool), stay: make(map[int64]bool)}
}

// Progress returns how far the pass has come.
func (p *Pass) Progress() Progress { return p.done }

// Step brings the next rows in, when it is time by the rate, and reports whether there may be more. An error ends the
// pass: Redis or PHP-FPM is away. Whatever happens, call Finish.
func (p *Pass) Step(ctx context.Context) (more bool, err error) {
	if err := p.pace.wait(ctx); err != nil {
		return false, err
	}
	limit := p.pace.most(p.d.opts.Batch)
	if p.limit >= 0 {
		limit = min(limit, p.limit)
	}
	r, err := p.d.table.read(ctx, p.gone, p.after, limit, p.lift)
	if err != nil {
		return false, err
	}
	p.gone = p.gone[:0]
	before := p.done
	overtaken, err := p.bringIn(ctx, r)
	if err != nil {
		return false, err
	}
	n := p.done.Added + p.done.Before - before.Added - before.Before
	p.pace.spend(n)
	if p.limit > 0 {
		p.limit -= n
	}
	return p.limit != 0 && (overtaken || !r.last), nil
}

// bringIn offers the rows of r, key by key. It reports whether somebody else was quicker with some of them, so that
// they are to be read again.
func (p *Pass) bringIn(ctx context.Context, r reading) (overtaken bool, err error) {
	for _, g := range p.group(r.rows) {
		s := p.spooling(r, g)
		done, err := p.d.inlet.Spool(ctx, s)
		if err != nil {
			return false, fmt.Errorf("spool %s: %w", p.d.opts.Name, err)
		}
		if done.Later > 0 {
			p.lift, overtaken = max(p.lift, done.Later), true
			continue
		}
		p.note(g, done)
	}
	stays := func(r row) bool { return p.stay[r.ID] }
	if !overtaken && slices.ContainsFunc(r.rows, stays) {
		p.after = r.rows[len(r.rows)-1].ID // the next ones are behind those that stay
	}
	return overtaken, nil
}

// note takes down what became of a group's rows.
func (p *Pass) note(g group, done queue.Spooled) {
	p.done.Added += done.Added
	p.done.Before += done.Before
	for i, row := range g.rows {
		if done.In[i] {
			p.gone = append(p.gone, row.rowID())
			continue
		}
		p.hold(row)
	}
	if done.Refused != nil {
		p.held[g.key] = true
		p.errs = append(p.errs, done.Refused)
	}
}

// hold notes that a row stays where it is, and reports whether that is news.
func (p *Pass) hold(r row) bool {
	if p.stay[r.ID] {
		return false
	}
	p.stay[r.ID] = true
	p.done.Held++
	return true
}

// group is the rows of one reading for one key, in their order.
type group struct {
	key     string
	list    bool
	seconds bool // its producer says so; a pool has one unit, whatever rows without a word come before and behind
	rows    []row
}

// group sorts the rows by their keys, and leaves out what cannot come in.
func (p *Pass) group(rows []row) []group {
	var groups []group
	at := make(map[string]int)
	for _, r := range rows {
		key := string(r.Key)
		if err := r.fault(); err != nil {
			if p.hold(r) {
				p.errs = append(p.errs, err)
			}
			continue
		}
		if p.held[key] {
			p.hold(r)
			continue
		}
		list := r.Kind == kindList
		name := strconv.FormatBool(list) + " " + key
		i, ok := at[name]
		if !ok {
			i = len(groups)
			at[name] = i
			groups = append(groups, group{key: key, list: list})
		}
		groups[i].seconds = groups[i].seconds || r.Kind == kindSeconds
		groups[i].rows = append(groups[i].rows, r)
	}
	return groups
}

func (p *Pass) spooling(r reading, g group) queue.Spooling {
	s := queue.Spooling{
		Spool: r.spool, Reading: r.number, After: p.after, Upto: r.rows[len(r.rows)-1].ID, Last: r.last,
		Key: g.key, List: g.list, Unit: p.d.units[g.key],
	}
	if g.seconds {
		s.Unit = queue.Seconds
	}
	for _, row := range g.rows {
		s.Rows = append(s.Rows, row.spoolRow())
	}
	return s
}

// finishPatience is how long a pass that is cut off may take to delete what is in already.
const finishPatience = 2 * time.Second

// Finish deletes the rows that are in and not deleted yet, and counts what is left in the table. It does so for a moment
// although ctx has ended, for the next pass would only meet them again.
func (p *Pass) Finish(ctx context.Context) (left int, err error) {
	if ctx.Err() != nil {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishPatience)
		defer cancel()
		ctx = short
	}
	left, err = p.d.table.remove(ctx, p.gone)
	if err == nil {
		p.gone = nil
	}
	return left, err
}

// Faults returns why rows stay in the table, nil if none had to.
func (p *Pass) Faults() error { return errors.Join(p.errs...) }
