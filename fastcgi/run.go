package fastcgi

import (
	"context"
	"path"
	"strconv"
	"sync"
	"time"

	"sidecar/compat"
)

// run is one job on its way through FPM.
type run struct {
	topic *Topic
	route *route
	job   compat.Job
	nonce nonce

	hellos   chan greeting // room for one, from the connection or the report socket
	verdicts chan sign     // room for one, from the report socket

	mu      sync.Mutex
	greeted bool          // by the report socket
	refused bool          // no hello will be answered any more
	signer  nonce         // what its verdict is signed with; the bare nonce before the hello
	met     chan struct{} // closed at the hello
	pid     int           // who said it, for those who look
	heard   time.Time     // when

	// Of the goroutine that follows the run.
	exchange *exchange
	reply    *reply // what comes back; nil once it is taken
	sent     time.Time
	begun    time.Time        // the hello; raw: the request
	deadline <-chan time.Time // of the timeout, then of the next attempt to stop the script
	giveUp   <-chan time.Time // abandon_after, or the sidecar's own patience when it stops
	child    *child           // whom the hello came from; nil where that is not certain

	lookAgain <-chan time.Time // whether the child lives
	lastWords <-chan time.Time // the child is gone: how long what it wrote may take

	printed  *sign // found in the output
	asked    bool  // a second request is on the connection
	attempts int   // to stop the script
	facts    facts
	result   Result
}

// Run runs job through FPM once and returns all that was seen of it: in mode worker by a worker that is started
// for it, which needs [Pool.Prepare] and [Pool.Run].
func (t *Topic) Run(ctx context.Context, job compat.Job) Result {
	if t.crew != nil {
		return t.runOnce(ctx, job)
	}
	to, err := t.routes.of(job)
	if err != nil {
		return Result{Outcome: rejected(err)}
	}
	n := newNonce()
	r := &run{
		topic: t, route: to, job: job, nonce: n, signer: n, met: make(chan struct{}), sent: time.Now(),
		hellos: make(chan greeting, 1), verdicts: make(chan sign, 1),
		facts: facts{raw: !t.opts.Bridge, timeout: to.timeout, patience: t.pool.patience, success: t.opts.SuccessBody},
	}
	r.through(ctx)
	return r.conclude()
}

// through makes the run; the facts are complete when it returns.
func (r *run) through(ctx context.Context) {
	p := r.topic.pool
	params, err := r.params(ctx)
	if err != nil {
		r.end(unready, err)
		return
	}
	p.reports.add(r)
	defer p.reports.remove(r)
	if err := r.dial(ctx); err != nil {
		if ctx.Err() != nil {
			r.end(withdrawn, nil)
			return
		}
		r.end(unreached, explainDial(p.listen, err))
		return
	}
	over, err := r.exchange.send(params, r.job.Raw())
	if err != nil {
		r.exchange.close()
		r.end(unready, err)
		return
	}
	if r.facts.raw { // nothing will say when the script starts
		r.startClocks()
	}
	p.sent(r, !r.facts.raw)
	r.follow(ctx, over)
	p.unsent(r)
	r.exchange.close()
	r.child.release()
	r.facts.written = r.exchange.conn.written.Load() // only now has gofast's writing goroutine ended for certain
	r.take()
}

// params are the request's parameters. The files' real paths are found anew for every run.
func (r *run) params(ctx context.Context) (map[string]string, error) {
	t, to := r.topic, r.route
	o, at := t.opts, newFollower(t.pool.opts.Chroot)
	script := at.follow(to.script)
	if !o.Bridge {
		params := baseParams(script, script, path.Dir(script), r.job.Raw())
		addJob(params, o.Topic, r.job, to.timeout)
		addTrace(params, compat.TraceContextOf(ctx))
		deadline := r.sent.Add(to.timeout).UnixMilli() //nolint:forbidigo // for the script's own clock, on FPM's host
		params["SIDECAR_DEADLINE_MS"] = strconv.FormatInt(deadline, 10)
		return params, nil
	}
	if err := t.pool.bridge.ensure(); err != nil {
		return nil, err
	}
	params, err := bridgeParams(t.pool.bridge.path, order{
		Mode: modeRun, Nonce: r.nonce, Secretly: true, Call: to.call, Script: script, Bootstrap: at.follow(o.Bootstrap),
		ExitOK: o.ExitOK, FailOnFalse: o.FailOnFalse, MemoryLimit: o.MemoryLimit, Socket: t.pool.reports.address(ctx),
	}, r.job.Raw())
	if err != nil {
		return nil, err
	}
	addJob(params, o.Topic, r.job, to.timeout)
	addTrace(params, compat.TraceContextOf(ctx))
	return params, nil
}

// dial connects. A process out of descriptors waits: that is nobody's fault, least of all the job's.
func (r *run) dial(ctx context.Context) error {
	p := r.topic.pool
	r.reply = newReply(r.nonce, r.topic.opts.OutputLimit)
	for faults := 1; ; faults++ {
		var err error
		r.exchange, err = dial(ctx, p.listen, r.reply, r.hellos)
		if err == nil {
			return nil
		}
		p.metrics.dialFailed(p.opts.Name)
		if !outOfDescriptors(err) || ctx.Err() != nil {
			return err
		}
		p.shutPool(err)
		pauseFor(ctx, backoff(faults, time.Second))
	}
}

// hello takes the bridge's start over the report socket, and reports whether the script may go on.
func (r *run) hello(g greeting) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused || r.greeted {
		return false
	}
	r.greeted = true
	r.learn(g)
	select {
	case r.hellos <- g:
	default:
	}
	return true
}

// learn notes what the verdict is signed with. mu is held.
func (r *run) learn(g greeting) {
	select {
	case <-r.met: // both ways carry the same
	default:
		r.signer = r.nonce.with(g.secret)
		close(r.met)
	}
}

// signedBy returns what the verdict is signed with.
func (r *run) signedBy() nonce {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.signer
}

// refuse makes every later hello over the report socket fail, and reports whether there was one.
func (r *run) refuse() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = true
	return r.greeted
}

// report takes a verdict over the report socket.
func (r *run) report(s sign) bool {
	select {
	case r.verdicts <- s:
		return true
	default:
		return false
	}
}

func (r *run) end(how ending, cause error) { r.facts.ending, r.facts.cause = how, cause }
