package queue

import (
	"context"
	"log/slog"
	"time"
)

// intake looks at freshly claimed texts and keeps back what needs no run: texts that are no job, and
// jobs that were done before.
type intake struct {
	store   *Store
	lease   time.Duration
	rules   rules
	keeper  *Keeper
	settler *Settler
	due     *dueTimes
	head    *readyHead
	metrics *topicMetrics
	trouble *trouble // of DoneBefore
	tracer  Tracer   // nil: nobody traces
	log     *slog.Logger
	topic   string

	incidents *Incidents

	told bool // of a job that names another topic. Only used by the Feeder's goroutine
}

// sort registers the claims with the Keeper and returns those that are to run, in order. None of them
// is returned once take is done: what was not started goes back.
func (in *intake) sort(take context.Context, claims Claims) []*held {
	list, reasons := in.parse(claims)
	in.keeper.take(list)
	runnable := list[:0:0]
	for i, h := range list {
		if reasons[i] == nil {
			in.tellStray(take, h)
			runnable = append(runnable, h)
			continue
		}
		in.metrics.unreadable.Inc()
		in.log.WarnContext(take, "text is no job and goes to dead", "reason", reasons[i])
		in.incidents.Note(Incident{Kind: IncidentUnreadable, Topic: in.topic, Detail: reasons[i].Error(), Count: 1})
		in.settler.add(in.rules.unreadable(h, reasons[i]))
	}
	runnable = in.withoutDone(take, runnable)
	if take.Err() != nil {
		in.giveBack(runnable)
		return nil
	}
	return runnable
}

// parse reads the claimed texts; where one is no job, the reason stands at its index.
func (in *intake) parse(claims Claims) ([]*held, []error) {
	list := make([]*held, len(claims.List))
	reasons := make([]error, len(claims.List))
	for i, claim := range claims.List {
		h := newHeld(claim, claims.Now, in.lease)
		h.breaks = claims.breaks
		reasons[i] = in.rules.read(h)
		h.due = in.due.take(h.body)
		if in.tracer != nil && reasons[i] == nil {
			h.trace = in.tracer.Claimed(in.topic, h.job, claims.asked, claims.given)
		}
		list[i] = h
	}
	in.head.claimed(claims, list)
	return list, reasons
}

// tellStray says, once, that a job names another topic than its key. The key counts, and a business may mean
// something of its own by the field; but it may also be another application that writes into the same keys.
func (in *intake) tellStray(ctx context.Context, h *held) {
	names := h.job.Topic()
	if in.told || names == "" || names == in.topic || "{"+names+"}" == in.topic {
		return
	}
	in.told = true
	in.log.WarnContext(ctx, "job names another topic than its key: do two applications share the keys? this is said once", "uuid", h.job.PlainUUID())
}

// withoutDone completes the jobs that are done, puts off those that somebody else is on, and returns the others. Neither
// can be guessed, so it asks until Redis answers or take is done.
func (in *intake) withoutDone(take context.Context, list []*held) []*held {
	if !in.rules.marks || len(list) == 0 {
		return list
	}
	again := backoff{most: time.Second}
	for take.Err() == nil {
		list = in.live(list)
		standings, err := in.standings(take, list)
		in.trouble.note(take, err)
		if err == nil {
			return in.open(list, standings)
		}
		again.wait(take)
	}
	return list
}

// live gives back claims whose lease has ended while this process stood still, or Redis was away: a text that is back in
// its list must get no ack, or the old worker passes over it.
func (in *intake) live(list []*held) []*held {
	if in.rules.wire.list == nil {
		return list // marks are written when a job is done, and not before
	}
	live := list[:0:0]
	for _, h := range list {
		if (inHandOf{in.keeper, h}).Lapsed() {
			in.settler.add(in.rules.giveBack(h))
			continue
		}
		live = append(live, h)
	}
	return live
}

// standings asks which of the jobs may run.
func (in *intake) standings(ctx context.Context, list []*held) ([]Standing, error) {
	if in.rules.wire.list != nil {
		acks := make([]Ack, len(list))
		for i, h := range list {
			acks[i] = Ack{UUID: h.job.UUID(), Text: h.text}
		}
		return in.store.TakeAcks(ctx, acks)
	}
	uuids := make([]string, len(list))
	for i, h := range list {
		uuids[i] = h.job.UUID()
	}
	done, err := in.store.DoneBefore(ctx, uuids)
	standings := make([]Standing, len(done))
	for i := range done {
		standings[i].Done = done[i]
	}
	return standings, err
}

// open returns the jobs that may run and settles the others.
func (in *intake) open(list []*held, standings []Standing) []*held {
	open := list[:0:0]
	for i, h := range list {
		switch s := standings[i]; {
		case s.Done:
			in.metrics.doneBefore.Inc()
			in.settler.add(in.rules.done(h))
		case s.Wait > 0:
			// Without the uuid: the ack is somebody else's.
			in.settler.add(&settlement{claim: h, action: Requeue, newText: h.body, delay: s.Wait})
		default:
			open = append(open, h)
		}
	}
	return open
}

func (in *intake) giveBack(list []*held) {
	for _, h := range list {
		in.settler.add(in.rules.giveBack(h))
	}
}
