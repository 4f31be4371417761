package fastcgi

import (
	"context"
	"errors"
	"net"
	"time"
)

// leavePatience is how long a stopping sidecar waits for a script it has killed to be gone.
const leavePatience = 3 * time.Second

// hellosUnderWay is how long a stopping sidecar lets its own goroutines hand over a hello that has arrived.
const hellosUnderWay = 50 * time.Millisecond

// follow waits for the run's end and says how it came. Nothing is closed before that, or before the child is gone: as
// long as the connection is open, a child that lives works for this run alone.
func (r *run) follow(ctx context.Context, over <-chan struct{}) {
	stopping := ctx.Done()
	for {
		select {
		case g := <-r.hellos:
			r.begin(g)
		case s := <-r.verdicts:
			r.facts.sign = &s
			r.end(answered, nil)
			return
		case <-over:
			r.catchUp()
			r.take()
			next, ok := r.askAgain()
			if !ok {
				r.over()
				return
			}
			over = next
		case <-r.deadline:
			r.overdue(ctx)
		case <-r.lookAgain:
			r.look()
		case <-r.lastWords:
			r.cutOff(ctx)
		case <-r.giveUp:
			r.leave()
			return
		case <-stopping:
			stopping = nil
			if !r.stopEarly(ctx, over) {
				return
			}
		}
	}
}

// begin notes the hello: from here on the job's code runs, and the timeout counts.
func (r *run) begin(g greeting) {
	r.mu.Lock()
	r.learn(g)
	r.pid, r.heard = g.pid, time.Now()
	r.mu.Unlock()
	r.facts.started = true
	r.result.Started, r.result.PID, r.result.PHP = true, g.pid, g.php
	r.startClocks()
	r.meet()
	p := r.topic.pool
	p.heard(r)
	p.metrics.started(p.opts.Name, r.begun.Sub(r.sent))
}

func (r *run) startClocks() {
	r.begun = time.Now()
	r.deadline = time.After(r.route.timeout)
	r.giveUp = time.After(r.topic.opts.AbandonAfter)
}

// catchUp takes what had arrived when the reply was over, which select may not have seen first.
func (r *run) catchUp() {
	select {
	case g := <-r.hellos:
		r.begin(g)
	default:
	}
	select {
	case s := <-r.verdicts:
		r.facts.sign = &s
	default:
	}
}

// askAgain puts a second request on the connection when END_REQUEST came without a sign: the team's code has
// called fastcgi_finish_request() and may go on. FPM answers only when the script has really ended (FPM-FACTS 3),
// and until then what the bridge prints still arrives.
func (r *run) askAgain() (<-chan struct{}, bool) {
	x := r.exchange
	if r.facts.raw || !r.facts.started || r.facts.sign != nil || r.printed != nil || r.asked || !x.ended() {
		return nil, false
	}
	select {
	case <-x.done:
	case <-time.After(leavePatience): // it answered without reading the request: no FPM does
		return nil, false
	}
	r.asked = true
	r.reply = newTailReply(r.nonce, r.topic.opts.OutputLimit)
	x.conn.reply = r.reply
	params, err := bridgeParams(r.topic.pool.bridge.path, order{Mode: modeCheck, Nonce: newNonce()}, "{}")
	if err != nil {
		return nil, false
	}
	over, err := x.send(params, "{}")
	return over, err == nil
}

// over says how the reply ended. A sign counts with the END_REQUEST behind it, of the run's own request.
func (r *run) over() {
	err := r.exchange.conn.overErr
	if errors.Is(err, net.ErrClosed) {
		err = errHeldOpen
	}
	if r.facts.sign == nil && (err == nil || r.asked) {
		r.facts.sign = r.printed
	}
	switch {
	case err == nil, r.facts.sign != nil:
		r.end(answered, nil)
	case errors.Is(err, errNotFastCGI):
		r.end(garbled, err)
	default:
		r.end(cutOff, err)
	}
}

// overdue tries to stop a script that ran too long, now and, where that fails, again and again.
func (r *run) overdue(ctx context.Context) {
	r.facts.late = true
	r.attempts++
	r.deadline = time.After(min(time.Duration(r.attempts)*time.Second, 30*time.Second))
	if r.facts.raw { // nobody knows its pid
		r.deadline = nil
		return
	}
	err := r.stop(ctx)
	if err != nil && r.attempts == 1 {
		r.topic.log.WarnContext(ctx, "a script runs too long and cannot be stopped: slot and lease stay taken", "uuid", r.job.PlainUUID(), "pid", r.result.PID, "error", err)
	}
}

// leave gives the script up. It may go on.
func (r *run) leave() {
	if r.facts.going {
		r.end(held, nil)
		return
	}
	p := r.topic.pool
	p.metrics.stopped(p.opts.Name, stoppedAbandoned)
	r.topic.log.Warn("abandoned, may still run", "uuid", r.job.PlainUUID(), "pid", r.result.PID, "after", r.topic.opts.AbandonAfter)
	r.end(abandoned, nil)
}

// stopEarly ends the run because the sidecar stops. It reports whether there is still something to wait for.
func (r *run) stopEarly(ctx context.Context, over <-chan struct{}) bool {
	r.facts.going = true
	r.giveUp = time.After(leavePatience)
	if r.facts.raw {
		r.end(held, nil) // no pid, and nothing says whether it has begun
		return false
	}
	if !r.facts.started {
		select {
		case g := <-r.hellos:
			r.begin(g)
			r.giveUp = time.After(leavePatience)
		case <-over:
			return true
		case <-time.After(hellosUnderWay):
			r.withdraw(over)
			return false
		}
	}
	if err := r.stop(ctx); err != nil {
		r.end(held, nil)
		return false
	}
	return true
}

// withdraw takes back a request that waits for a child. FPM would run it although we have gone (FPM-FACTS 4), but
// on a unix socket the bridge's hello fails once we no longer read, and then it runs nothing: so what we have not
// read by then has certainly not begun. TCP gives no such certainty.
func (r *run) withdraw(over <-chan struct{}) {
	begun := r.refuse()
	certain := r.exchange.conn.closeRead()
	if !certain {
		r.exchange.conn.reset()
	}
	<-over // at once: the connection has an end now
	r.catchUp()
	r.take()
	switch {
	case r.exchange.ended() && (r.printed != nil || !r.facts.started):
		r.over()
	case begun, r.facts.started, !certain:
		r.end(held, nil)
	default:
		r.end(withdrawn, nil)
	}
}
