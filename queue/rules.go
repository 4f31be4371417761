package queue

import (
	"strings"
	"time"

	"sidecar/compat"
)

// errorMost is how many characters of an error a dead record keeps. The old consumer had no limit there;
// its messages were written by people.
const errorMost = 2000

// leaseExpired begins the last_error of a job whose lease ended: nobody saw what became of that run.
const leaseExpired = "lease expired"

// rules turn outcomes into settlements: what RetryPolicy decides, written into the job's text.
type rules struct {
	wire   wire
	policy RetryPolicy
	marks  bool // idempotency is not off
	clock  *serverClock
	loc    *time.Location
}

func newRules(opts Options, clock *serverClock, loc *time.Location) rules {
	return rules{
		wire:   newWire(opts),
		policy: RetryPolicy{Ladder: opts.Retry, MaxCrashes: opts.MaxCrashes},
		marks:  opts.Idempotency != IdempotencyOff,
		clock:  clock,
		loc:    loc,
	}
}

// read finds the job in h's entry. Its error says why there is none.
func (r rules) read(h *held) (err error) {
	h.body = r.wire.text(h.text)
	h.job, h.form, err = r.wire.job(h.body)
	return err
}

// settle returns what follows from o for h, or nil when the claim is to be left to its lease.
func (r rules) settle(h *held, o compat.Outcome) *settlement {
	decision := r.policyOf(h.job).Decide(h.job.Tries(), h.job.Crashes(), o)
	if decision.Action == Leave {
		return nil
	}
	one := &settlement{claim: h, action: decision.Action, uuid: r.uuid(h.job)}
	switch decision.Action {
	case Complete, Leave:
	case GiveBack:
		one.newText = h.body
	case Requeue:
		one.newText = wrap(r.edit(h.job, decision, o).Raw(), h.form)
		one.delay = decision.delay()
	case Bury:
		one.record = r.record(h, r.edit(h.job, decision, o).Raw(), o)
	}
	return one
}

// policyOf returns what decides about the job.
func (r rules) policyOf(job compat.Job) RetryPolicy {
	policy := r.policy
	policy.Retries, policy.ByJob = r.wire.retries(job)
	return policy
}

// giveBack returns the settlement of a claim whose run never began.
func (r rules) giveBack(h *held) *settlement {
	return &settlement{claim: h, action: GiveBack, newText: h.body, uuid: r.uuid(h.job)}
}

// lonePause is how long a job that is to run alone stays away while another one does.
const lonePause = time.Second

// putOff returns the settlement of a claim whose run never began, and is not to be tried at once.
func (r rules) putOff(h *held) *settlement {
	return r.later(h, spread(lonePause))
}

// later returns the settlement of a claim whose run never began and is to be tried again after a while.
func (r rules) later(h *held, delay time.Duration) *settlement {
	return &settlement{claim: h, action: Requeue, newText: h.body, delay: delay, uuid: r.uuid(h.job)}
}

// done returns the settlement of a job that was done before.
func (r rules) done(h *held) *settlement {
	return &settlement{claim: h, action: Complete, uuid: r.uuid(h.job)}
}

// unreadable returns the settlement of a text that is no job.
func (r rules) unreadable(h *held, reason error) *settlement {
	return &settlement{claim: h, action: Bury, record: r.record(h, h.body, compat.Outcome{Error: reason.Error()})}
}

func (r rules) uuid(job compat.Job) string {
	if !r.marks {
		return ""
	}
	return job.UUID()
}

// record is the dead record (CONTRACT 1.3) of text, which need not be a job, or, in profile list, the reason why h is
// in dead. A dead record is stored in h's form, as a PHP client with those options would write it and reads it. It is
// dated by Redis's clock.
func (r rules) record(h *held, text string, o compat.Outcome) string {
	errText, at := compat.Cut(o.Error, errorMost), compat.FormatAt(r.clock.now().In(r.loc), r.loc)
	if r.wire.list != nil {
		return reason{List: r.wire.list.Key, JobID: h.job.UUID(), Error: errText, Trace: compat.Cut(o.Trace, compat.TraceLength), At: at}.text(h.body)
	}
	return wrap(compat.DeadRecord{Job: text, Error: errText, Trace: o.Trace, At: at}.Text(), h.form)
}

// delay is the decision's delay, spread where it asks for that.
func (d Decision) delay() time.Duration {
	if d.Spread {
		return spread(d.Delay)
	}
	return d.Delay
}

// edit changes exactly the fields the decision and the outcome touch; every other byte stays. A job of profile list
// has no last_error of its own (CONTRACT 2): only with our crashes it gets one.
func (r rules) edit(job compat.Job, d Decision, o compat.Outcome) compat.Job {
	if d.CountTry {
		job = job.WithTries(max(job.Tries(), 0) + 1)
	}
	if d.CountCrash {
		job = job.WithCrashes(max(job.Crashes(), 0) + 1)
	}
	if d.CountCrash || r.wire.list == nil && (d.CountTry || d.Action == Bury) {
		job = job.WithLastError(o.Error)
	}
	return job
}

// lastChance reports that one more crash buries the job and that nobody saw why its lease expired. It
// runs alone, so that if it takes the process with it, no innocent job beside it is charged (DESIGN 5).
func (r rules) lastChance(job compat.Job) bool {
	return job.Crashes() >= r.policy.MaxCrashes && r.policy.MaxCrashes > 0 && strings.HasPrefix(job.LastError(), leaseExpired)
}
