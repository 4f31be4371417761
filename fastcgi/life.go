package fastcgi

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// drainPatience is how long frames may take that a worker had sent before its request ended: they have arrived.
const drainPatience = 100 * time.Millisecond

// life is what is known of a worker outside of its jobs. It belongs to the goroutine that follows the worker and,
// between hello and the end of its connection, to the one that reads it.
type life struct {
	exchange  *exchange
	reply     *reply
	call      callback
	greeted   bool
	boot      time.Duration
	waited    time.Duration    // from the request to the hello
	bootFault *sign            // the bootstrap's
	attentive *attentive       // how its exchange is read
	bye       atomic.Bool      // it said that it ends: what it has not answered it has not begun
	ended     chan struct{}    // closed when nobody reads the connection any more
	readErr   error            // why; read it after ended is closed
	attempts  int              // to stop it
	child     *child           // nil while nobody knows for certain which it is
	mourned   bool             // the child is gone: its connections are not waited for much longer
	lookAgain <-chan time.Time // at the child
	ending    ending           // how the request ended
	cause     error            // of that, where there is one
	stopped   bool             // the child was killed
	going     bool             // the sidecar stops, and waits for nobody
}

// live makes the worker's request and follows it to its end, then its jobs are judged and its slot is free.
func (r *resident) live(ctx context.Context) {
	r.through(ctx)
	r.life.child.release()
	if r.life.greeted {
		_ = r.life.call.conn.Close()
		<-r.life.ended
	}
	r.crew.bury(r, time.Now())
}

func (r *resident) end(how ending, cause error) { r.life.ending, r.life.cause = how, cause }

func (r *resident) through(ctx context.Context) {
	p, l := r.crew.topic.pool, &r.life
	l.reply = newReply(r.token, r.crew.topic.opts.OutputLimit)
	l.reply.greeted = true // its hello is a frame
	params, err := r.params(ctx)
	if err != nil {
		r.end(unready, err)
		return
	}
	p.workers.await(r)
	defer p.workers.forget(r)
	l.exchange, err = dial(ctx, p.listen, l.reply, nil)
	if err != nil {
		p.metrics.dialFailed(p.opts.Name)
		r.end(unreached, explainDial(p.listen, err))
		return
	}
	defer l.exchange.close()
	l.attentive = l.exchange.conn.attend()
	over, err := l.exchange.send(params, "")
	if err != nil {
		r.end(unready, err)
		return
	}
	p.sent(r, true)
	defer p.unsent(r)
	r.follow(ctx, over)
}

// params are those of the long request. The files' real paths are found anew for every worker.
func (r *resident) params(ctx context.Context) (map[string]string, error) {
	t := r.crew.topic
	p, o, at := t.pool, t.opts, newFollower(t.pool.opts.Chroot)
	if err := p.bridge.ensure(); err != nil {
		return nil, err
	}
	socket := p.workers.address(ctx)
	if socket == "" {
		return nil, errors.New("there is no socket that workers could call back")
	}
	call, script := o.Call, at.follow(o.Script)
	if t.routes.byJob() {
		call, script = routesNeedNewerBridge, ""
	}
	r.targets = t.routes.targets(at)
	return workerParams(p.bridge.path, order{
		Mode: modeWorker, Nonce: r.token, Token: r.token, Socket: socket, Topic: o.Topic,
		Routes: t.routes.byJob(), Call: call, Script: script, Bootstrap: at.follow(o.Bootstrap),
		ExitOK: o.ExitOK, FailOnFalse: o.FailOnFalse, MemoryLimit: o.MemoryLimit,
		TimeoutMS: o.Timeout.Milliseconds(), FrameLimit: frameLimit, OutputLimit: o.OutputLimit,
		MaxJobs: o.MaxJobs, MaxMemory: o.MaxMemory,
	})
}

// follow waits until the worker's request is over, or has to be given up.
func (r *resident) follow(ctx context.Context, over <-chan struct{}) {
	l := &r.life
	var ended <-chan struct{} // of its connection; nil before it is there, and after
	var again, giveUp <-chan time.Time
	stopping := ctx.Done()
	for {
		select {
		case call := <-r.calls:
			r.greet(ctx, call)
			ended = l.ended
		case <-ended:
			if over == nil { // its request has ended before
				r.over(ctx)
				return
			}
			ended, again = nil, time.After(r.farewell(ctx)) // its request ends now, too
			if errors.Is(l.readErr, errFrame) {
				r.crew.log.WarnContext(ctx, "a worker is stopped", "pid", l.call.PID, "error", l.readErr)
				again = time.After(0)
			}
		case why := <-r.halts:
			if why != byStop && why != byTimeout { // it does nothing, and leaves when it sees the end of its connection
				_ = l.call.conn.Close()
				continue
			}
			if why == byStop {
				l.going = true
			}
			if !l.greeted {
				r.withdraw(over)
				return
			}
			if !r.stop(ctx, &again, &giveUp) {
				return
			}
		case <-stopping:
			stopping = nil
			if l.bye.Load() {
				again = time.After(leavePatience)
			}
		case <-l.lookAgain:
			r.lookForChild(ctx)
		case <-again:
			if !r.stop(ctx, &again, &giveUp) {
				return
			}
		case <-giveUp:
			r.giveUp()
			return
		case <-over:
			if r.servesOn() {
				over = nil
				continue
			}
			r.over(ctx)
			return
		}
	}
}

// servesOn reports that only the request has ended: a handler has called fastcgi_finish_request(), and the worker goes
// on. Nobody reads what it prints from here on, so it is to leave after the jobs in hand.
func (r *resident) servesOn() bool {
	l := &r.life
	if !l.greeted || l.exchange.conn.overErr != nil {
		return false
	}
	select {
	case <-l.ended:
		return false
	case <-time.After(drainPatience): // for its goodbye, which goes another way
	}
	if l.bye.Load() {
		return false
	}
	c := r.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.leaving == "" {
		r.leaving = byOther
	}
	c.nudge()
	return true
}

// greet takes the connection on which the worker has called back.
func (r *resident) greet(ctx context.Context, call callback) {
	c, l, now := r.crew, &r.life, time.Now()
	l.call, l.greeted, l.ended, l.waited = call, true, make(chan struct{}), now.Sub(r.born)
	p := c.topic.pool
	p.heard(r)
	p.metrics.started(p.opts.Name, l.waited)
	c.mu.Lock()
	r.conn, r.pid, r.greeted = call.conn, call.PID, now
	c.wakeBy(now.Add(c.topic.opts.Timeout))
	c.mu.Unlock()
	r.meet()
	go func() {
		defer close(l.ended)
		l.readErr = r.read(ctx, call.in)
		_ = call.conn.Close()
		r.goes(byDeath)
	}()
}

// withdraw takes back a request that waits for a child. Whatever comes of it, a bridge that cannot call back runs nothing.
func (r *resident) withdraw(over <-chan struct{}) {
	r.crew.topic.pool.workers.forget(r)
	if !r.life.exchange.conn.closeRead() {
		r.life.exchange.conn.reset()
	}
	<-over // at once: the connection has an end now
	r.end(withdrawn, nil)
}

// stop kills the worker's child. It reports whether there is anything left to wait for: its end, or the next attempt.
func (r *resident) stop(ctx context.Context, again, giveUp *<-chan time.Time) bool {
	l, p := &r.life, r.crew.topic.pool
	l.attempts++
	err := p.stop(ctx, l.call.PID, func() error {
		if l.child != nil {
			return l.child.kill()
		}
		return killChild(l.call.PID, time.Since(r.greetedAt()), l.exchange.conn.Conn)
	})
	switch {
	case err == nil:
		l.stopped = true
		*again, *giveUp = nil, time.After(leavePatience)
		return true
	case l.going:
		r.end(held, nil)
		return false
	}
	if l.attempts == 1 {
		r.crew.log.WarnContext(ctx, "a worker does not end and cannot be stopped: its slot stays taken", "pid", l.call.PID, "error", err)
		*giveUp = time.After(r.crew.topic.opts.AbandonAfter)
	}
	*again = time.After(min(time.Duration(l.attempts)*time.Second, 30*time.Second))
	return true
}

func (r *resident) greetedAt() time.Time {
	r.crew.mu.Lock()
	defer r.crew.mu.Unlock()
	return r.greeted
}

// giveUp ends it without having seen its end.
func (r *resident) giveUp() {
	l, p := &r.life, r.crew.topic.pool
	switch {
	case l.stopped: // killed for certain; something that it had started keeps the connection open
		r.end(cutOff, net.ErrClosed)
	case l.going:
		r.end(held, nil)
	default:
		p.metrics.stopped(p.opts.Name, stoppedAbandoned)
		r.crew.log.Warn("a worker is abandoned, may still run", "pid", l.call.PID)
		r.end(abandoned, nil)
	}
}

// over notes how the request ended, once all frames have been read that the worker had sent.
func (r *resident) over(ctx context.Context) {
	l := &r.life
	if !l.greeted { // it may have called just now: that goes another way
		select {
		case call := <-r.calls:
			r.greet(ctx, call)
		case <-time.After(drainPatience):
		}
	}
	if l.greeted {
		// A process that the team's code has left behind may hold the connection, too: it need not end.
		_ = l.call.conn.SetReadDeadline(time.Now().Add(drainPatience)) // closed already, then
		<-l.ended
	}
	err := l.exchange.conn.overErr
	switch {
	case err == nil:
		r.end(answered, nil)
	case errors.Is(err, errNotFastCGI):
		r.end(garbled, err)
	case errors.Is(err, net.ErrClosed):
		r.end(cutOff, errHeldOpen)
	default:
		r.end(cutOff, err)
	}
}
