package alert

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"sidecar/queue"
)

const (
	// claimFor is for how long a courier keeps other sidecars' ones from its target: longer than it takes.
	claimFor = 30 * time.Second
	// afterStop bounds what a courier still writes down once the sidecar stops.
	afterStop = 2 * time.Second

	// failuresMost is up to where failures in a row are counted.
	failuresMost = 1_000_000

	retryFirst = 2 * time.Second
	retryMost  = 5 * time.Minute
	retryLimit = time.Minute // for a target that has had too many messages
)

// item is what one alarm has to tell.
type item struct {
	news  news
	alarm queue.Alarm
}

// parcel returns what target is to hear now, the worst first.
func (b *book) parcel(o Options, target string) (items []item) {
	for _, a := range b.list() {
		r, ok := o.rule(a.Rule)
		if !ok || !r.tells(target) {
			continue
		}
		if n := due(a, r, target, b.silenced(a.Rule, a.Subject), b.now); n != nothing {
			items = append(items, item{n, a})
		}
	}
	slices.SortStableFunc(items, func(x, y item) int { return cmp.Compare(x.rank(), y.rank()) })
	return items
}

// rank orders what a message tells: what is new and critical comes first.
func (i item) rank() int {
	switch {
	case i.news == recovered:
		return 2
	case i.alarm.Severity == Critical:
		return 0
	}
	return 1
}

// dispatch sends a courier to each target that is to hear something, unless one is under way.
func (e *Engine) dispatch(ctx context.Context, of *book) {
	for _, t := range e.opts.Targets {
		if len(of.parcel(e.opts, t.Name)) == 0 || !e.depart(t.Name) {
			continue
		}
		c := courier{engine: e, opts: e.opts, target: t, ledger: of.ledger, silences: of.silences}
		e.couriers.Go(func() {
			defer e.arrive(t.Name)
			c.run(ctx)
		})
	}
}

// depart notes that a courier is under way to target, and reports false when one is already.
func (e *Engine) depart(target string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.delivered[target] {
		return false
	}
	e.delivered[target] = true
	return true
}

func (e *Engine) arrive(target string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.delivered, target)
}

// courier takes one message to one target.
type courier struct {
	engine   *Engine
	opts     Options
	target   Target
	ledger   Ledger
	silences map[string]queue.Silence
}

// run tells the target what is due, if no other sidecar is about to and the target may be asked again.
func (c courier) run(ctx context.Context) {
	mine, claim, ok := c.claim(ctx)
	if !ok {
		return
	}
	c.settle(ctx)
	b, err := readBook(ctx, c.ledger) // anew: another sidecar may have told it all by now
	if err != nil {
		return // the claim ends by itself
	}
	if len(b.silences) == 0 {
		b.silences = c.silences
	}
	items := b.parcel(c.opts, c.target.Name)
	if len(items) == 0 {
		c.release(ctx, mine, claim)
		return
	}
	answer := post(ctx, c.engine.client, c.target, message{
		name: c.opts.called(), at: c.engine.now(), zone: c.opts.Zone, language: c.opts.Language, items: items,
	})
	if ctx.Err() != nil && answer.result != sent {
		answer.err = nil // we stop: it says nothing of the target
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterStop)
	defer cancel()
	c.note(ctx, items, answer, mine, claim)
}

// claim takes the target for this courier. It returns what it wrote and how that reads.
func (c courier) claim(ctx context.Context) (mine queue.AlertTarget, text string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, ledgerPatience)
	defer cancel()
	now, err := c.ledger.Now(ctx)
	if err != nil {
		return mine, "", false
	}
	fields, err := c.ledger.Read(ctx, queue.AlertTargets)
	if err != nil {
		return mine, "", false
	}
	had := fields[c.target.Name]
	if json.Unmarshal([]byte(had), &mine) != nil {
		mine = queue.AlertTarget{}
	}
	if mine.By != c.engine.instance && waits(now, mine.Until, claimFor) || waits(now, mine.Next, retryMost) {
		return mine, "", false
	}
	mine.By, mine.Until = c.engine.instance, now.Add(claimFor)
	text = encode(mine)
	ok, err = c.ledger.Swap(ctx, queue.AlertTargets, c.target.Name, had, text)
	return mine, text, ok && err == nil
}

// waits reports that now is before until, which is no more than so far ahead unless Redis's clock was set back.
func waits(now, until time.Time, most time.Duration) bool {
	left := until.Sub(now)
	return left > 0 && left <= most+aheadMost
}

// release lets others have the target.
func (c courier) release(ctx context.Context, mine queue.AlertTarget, claim string) {
	mine.By, mine.Until = "", time.Time{}
	_, _ = c.ledger.Swap(ctx, queue.AlertTargets, c.target.Name, claim, encode(mine)) // else the claim ends by itself
}

// note writes down what came of a message.
func (c courier) note(ctx context.Context, items []item, a answer, mine queue.AlertTarget, claim string) {
	now, err := c.ledger.Now(ctx)
	if err != nil {
		now = c.engine.now()
	}
	log := c.engine.log.With("target", c.target.Name)
	switch {
	case a.result == sent:
		c.engine.metrics.sends.WithLabelValues(c.target.Name, string(sent)).Inc()
		log.InfoContext(ctx, "alarm message sent", "alarms", len(items), "failures_before", mine.Failures)
		mine.Failures, mine.Error, mine.LastSent = 0, "", now
		mine.Next = now.Add(time.Minute / time.Duration(c.target.Rate))
		fields, err := c.ledger.Read(ctx, queue.AlertAlarms)
		for _, i := range items {
			c.told(ctx, i, now, fields, err)
		}
	case a.err != nil:
		c.engine.metrics.sends.WithLabelValues(c.target.Name, string(a.result)).Inc()
		if text := a.err.Error(); text != mine.Error {
			log.WarnContext(ctx, "alarm message not sent; it is offered again", "result", string(a.result), "error", text)
			mine.Error = text
		}
		mine.Failures = min(max(0, mine.Failures), failuresMost) + 1 // anybody may have written there
		mine.Next = now.Add(a.pause(mine.Failures))
	}
	c.release(ctx, mine, claim)
}

// pause returns how long the target is left alone after so many failures in a row.
func (a answer) pause(failures int) time.Duration {
	wait := retryMost
	if failures < 16 {
		wait = min(retryFirst<<(failures-1), retryMost)
	}
	if a.result == limited {
		wait = max(wait, retryLimit)
	}
	return max(wait, min(a.retryAfter, retryMost))
}

// settle writes down what was told before and could not be then: alarms are told when Redis is in trouble.
func (c courier) settle(ctx context.Context) {
	debts := c.engine.takeDebts(c.target.Name, c.ledger)
	if len(debts) == 0 {
		return
	}
	fields, err := c.ledger.Read(ctx, queue.AlertAlarms)
	for _, d := range debts {
		c.told(ctx, d.item, d.at, fields, err)
	}
}

// debt is news that a target has heard and that is not written down.
type debt struct {
	item   item
	at     time.Time
	target string
	ledger Ledger
}

// debtsMost bounds the debts: more alarms than one message tells of.
const debtsMost = 1000

func (e *Engine) owe(d debt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.debts) < debtsMost {
		e.debts = append(e.debts, d)
	}
}

// takeDebts returns what is to be written down of target.
func (e *Engine) takeDebts(target string, l Ledger) (due []debt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.debts = slices.DeleteFunc(e.debts, func(d debt) bool {
		mine := d.target == target && (d.ledger == e.own) == (l == e.own)
		if mine {
			due = append(due, d)
		}
		return mine
	})
	return due
}

// told notes that the target has heard of an alarm, which stood in fields, if err is nil. Others may change the alarm meanwhile:
// then it is read again.
func (c courier) told(ctx context.Context, i item, now time.Time, fields map[string]string, err error) {
	field := queue.AlarmField(i.alarm.Rule, i.alarm.Subject)
	for try := range 5 {
		if try > 0 {
			fields, err = c.ledger.Read(ctx, queue.AlertAlarms)
		}
		if err != nil {
			break
		}
		a, ok := queue.AlarmOf(field, fields[field])
		if !ok {
			if i.news == recovered {
				return
			}
			// It ended while the message was on its way: the target is to hear that, too.
			a = i.alarm
			a.Over = now
		}
		next := ""
		if left := told(a, c.target.Name, i.news, now); left != nil {
			next = encode(left)
		}
		done, err := c.ledger.Swap(ctx, queue.AlertAlarms, field, fields[field], next)
		if done {
			return
		}
		if err != nil {
			break
		}
	}
	c.engine.owe(debt{i, now, c.target.Name, c.ledger})
}
