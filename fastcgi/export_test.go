package fastcgi

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/compat"
)

// Kill asks FPM to kill a child, as a run does that may not kill it itself.
func Kill(ctx context.Context, p *Pool, pid int) error { return p.kill(ctx, pid) }

// SlotsUsed returns how many slots of p are taken.
func SlotsUsed(p *Pool) int {
	used, _, _ := p.load()
	return used
}

// TopicSlots returns how many slots t has.
func TopicSlots(t *Topic) int {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	return t.used
}

// SetPatience changes how long jobs may wait for a child before that is told. Call it before the pool runs.
func SetPatience(p *Pool, d time.Duration) { p.patience = d }

// Nonce returns a new nonce.
func Nonce() string { return string(newNonce()) }

// Believe reports whether a line on the report socket is taken for the verdict of a run in hand with that nonce and
// secret, whose hello has come, and whether its sign is found in output.
func Believe(n, secret, line, output string) (believed, found bool) {
	r := &run{
		nonce: nonce(n), signer: nonce(n), met: make(chan struct{}),
		hellos: make(chan greeting, 1), verdicts: make(chan sign, 1),
	}
	r.learn(greeting{secret: secret})
	s := newReports(newSocket(bridgeFile{}, "report", "fuzz", "", slog.New(slog.DiscardHandler)))
	s.add(r)
	s.take(bytes.Fields([]byte(line)))
	watch := newHelloWatch(r.nonce)
	watch.see([]byte(output))
	r.nonce.withoutHello([]byte(output))
	_, start, end, found := r.signedBy().find([]byte(output))
	if found && (start < 0 || end > len(output) || start >= end) {
		panic("a sign outside of the output")
	}
	return len(r.verdicts) > 0, found
}

// ReadAsFrom returns what becomes of jobs in the hands of a worker that sends stream, and then is gone.
func ReadAsFrom(stream []byte, jobs []compat.Job) []compat.Outcome {
	o := DefaultPoolOptions()
	o.Name, o.Listen, o.Children = "fuzz", "unix:///nowhere", 1
	log := slog.New(slog.DiscardHandler)
	p := NewPool(o, log, NewMetrics(prometheus.NewRegistry(), []string{o.Name}, []string{"mail"}))
	p.gate.unshut()
	opts := DefaultTopicOptions()
	opts.Topic, opts.Call, opts.Mode = "mail", "handler", ModeWorker
	t := p.NewTopic(opts)
	t.gate.unshut()
	t.acquireSlots(context.Background(), 1)
	here, there := net.Pipe()
	defer there.Close()
	c, now := t.crew, time.Now()
	r := newResident(c, now)
	r.targets = t.routes.targets(newFollower(""))
	r.conn, r.ready, r.greeted, r.leaving = here, true, now, byDrain // whatever it does, it gets no more
	r.life.call.conn, r.life.greeted = here, true
	r.life.reply, r.life.attentive = newReply(r.token, opts.OutputLimit), &attentive{Conn: here}
	var errands []*errand
	c.mu.Lock()
	c.residents = append(c.residents, r)
	for _, job := range jobs {
		e := c.errands.get(job, t.routes.other, nil)
		r.give(e, now)
		errands = append(errands, e)
	}
	r.unsent = nil // they are with it
	c.mu.Unlock()
	r.life.readErr = r.read(context.Background(), newFrameReader(bytes.NewReader(stream)))
	r.end(cutOff, r.life.readErr)
	c.bury(r, now)
	c.drain()
	var outcomes []compat.Outcome
	for _, e := range errands {
		select {
		case outcome := <-e.outcome:
			outcomes = append(outcomes, outcome)
		default:
			outcomes = append(outcomes, compat.Outcome{})
		}
	}
	return outcomes
}
