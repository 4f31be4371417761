package fastcgi

import (
	"bytes"
	"errors"
	"time"

	"sidecar/compat"
)

const (
	traceChars     = 2000 // of stderr, where the handler gave no trace (DESIGN 5)
	loggedStderr   = 2000 // bytes of it in one log line
	stderrForError = 4 << 10
)

// take notes what the reply held, once the exchange no longer reads it. Of a reply behind the run's END_REQUEST
// only the sign and stderr matter.
func (r *run) take() {
	reply := r.reply
	if reply == nil {
		return
	}
	r.reply = nil
	limit := r.topic.opts.OutputLimit
	head, tail := reply.out.all()
	size := reply.out.size
	last := &head
	if tail != nil {
		last = &tail
	}
	if s, start, end, ok := r.signedBy().find(*last); ok {
		r.printed = &s
		*last = bytes.Join([][]byte{(*last)[:start], (*last)[end:]}, nil)
		size -= int64(end - start)
	}
	said, _ := reply.err.all()
	plain := r.nonce.withoutHello(said)
	r.facts.stderr = append(r.facts.stderr, r.nonce.withoutHello(lastChars(reply.err.last(), stderrForError))...)
	r.result.Stderr = append(r.result.Stderr, cut(plain, limit, reply.err.size-int64(len(said)-len(plain)))...)
	if r.asked {
		return
	}
	r.facts.status, r.facts.output, r.facts.tail = reply.status, head[:min(len(head), limit)], tail
	r.result.Status, r.result.Output = reply.status, cut(head, limit, size)
}

// conclude judges the run, tells gates, metrics and log, and returns the result.
func (r *run) conclude() Result {
	t := r.topic
	r.facts.elapsed = time.Since(r.sent)
	r.result.Waited = r.facts.elapsed
	if !r.begun.IsZero() {
		r.facts.elapsed = time.Since(r.begun)
		r.result.Waited, r.result.Elapsed = r.begun.Sub(r.sent), r.facts.elapsed
	}
	if s := r.facts.sign; s != nil {
		r.result.Boot = time.Duration(s.BootMS * float64(time.Millisecond))
		r.result.Memory = s.Memory
	}
	outcome, whose := judge(r.facts)
	t.concluded(r.job, r.route, &outcome, whose, r.facts)
	r.result.Outcome = outcome
	return r.result
}

// concluded tells gates and log of a run, and adds to its outcome the stderr where the handler gave no trace. It was to
// run what to says; nil stands for the start of a worker, which is for all routes.
func (t *Topic) concluded(job compat.Job, to *route, outcome *compat.Outcome, whose scope, f facts) {
	switch whose {
	case poolGate:
		t.pool.shutPool(f.cause)
	case topicGate:
		if f.sign != nil || f.raw { // else the fault is with what all routes have in common
			outcome.Error = to.named(outcome.Error)
		}
		if f.sign != nil { // the bridge has run, and found no handler
			t.doubts(errors.New(outcome.Error), to)
			break
		}
		t.shut(errors.New(outcome.Error))
	case nobody:
		if outcome.Verdict != compat.Unavailable {
			t.pool.proven(t, to)
		}
	}
	if outcome.Trace == "" && outcome.Verdict != compat.Done && outcome.Verdict != compat.Unavailable {
		outcome.Trace = string(lastChars(f.stderr, traceChars))
	}
	if t.opts.LogStderr && len(f.stderr) > 0 {
		t.log.Info("stderr of a job", "uuid", job.PlainUUID(), "stderr", string(lastChars(f.stderr, loggedStderr)))
	}
}
