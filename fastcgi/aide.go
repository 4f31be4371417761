package fastcgi

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"
)

// slotPatience is how long an Aide waits for its slot.
const slotPatience = 30 * time.Second

// Aide has PHP-FPM run a PHP file of the sidecar's own, one request at a time. Each takes one of the pool's slots, so
// that it is a job among jobs to the web's traffic, and waits its turn among the topics like a topic of one worker.
type Aide struct {
	file      bridgeFile
	parameter string // says who asks
	desk      *Topic // what stands in line for its slots; it has no jobs, and the pool does not know it
}

// NewAide returns the pool's Aide for the file with that text. It is written beside the bridge; where that is a deployed
// copy (bridge_path), name.php is looked for beside it. By the parameter, which no client of a web server can set if it
// does not begin with HTTP_, the file knows that the sidecar asks. An Aide needs [Pool.Run], which opens the pool's gate.
func (p *Pool) NewAide(name, parameter string, text []byte) *Aide {
	file := newOwnFile(p.opts, name, text)
	if p.bridge.given {
		file.given, file.path = true, path.Join(path.Dir(p.bridge.path), name+".php")
	}
	desk := &Topic{pool: p, log: p.log}
	desk.opts.Workers, desk.opts.Weight = 1, 1
	return &Aide{file: file, parameter: parameter, desk: desk}
}

// Ask has the file run with body and returns what it prints, which must be no more than limit bytes. That the answer is
// the file's, and all of it, is for the caller to see. When ctx is done the request may still run.
func (a *Aide) Ask(ctx context.Context, body string, limit int) ([]byte, error) {
	if err := a.file.ensure(); err != nil {
		return nil, err
	}
	if err := a.acquire(ctx); err != nil {
		return nil, err
	}
	defer a.desk.releaseSlots(1)
	return a.ask(ctx, body, limit)
}

// Place puts the file where PHP-FPM is to find it, and says where it is, as PHP-FPM sees it.
func (a *Aide) Place() (path string, err error) { return a.file.path, a.file.ensure() }

// AskAtOnce is Ask without a slot, for a pool that does not run: no job of this process could be in the way.
func (a *Aide) AskAtOnce(ctx context.Context, body string, limit int) ([]byte, error) {
	return a.ask(ctx, body, limit)
}

// acquire waits for a slot.
func (a *Aide) acquire(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, slotPatience)
	defer cancel()
	if a.desk.acquireSlots(waiting, 1) > 0 {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p := a.desk.pool
	if err := p.Health(); err != nil {
		return fmt.Errorf("fpm %q: %w", p.opts.Name, err)
	}
	return fmt.Errorf("fpm %q: jobs had all its slots for %s", p.opts.Name, slotPatience)
}

func (a *Aide) ask(ctx context.Context, body string, limit int) ([]byte, error) {
	p := a.desk.pool
	params := baseParams(a.file.path, a.file.path, path.Dir(a.file.path), body)
	params[a.parameter] = "1"
	x, r, err := fetch(ctx, p.listen, params, body, limit)
	if down, ok := errors.AsType[*downError](err); ok {
		if ctx.Err() == nil {
			p.metrics.dialFailed(p.opts.Name)
			p.shutPool(down.cause)
		}
		return nil, down.cause
	}
	if err != nil {
		return nil, err
	}
	defer x.close()
	return a.answer(x, r)
}

// fetch makes a request and returns when it is over; close the exchange then. A *downError says that FPM is not there.
func fetch(ctx context.Context, at address, params map[string]string, body string, limit int) (*exchange, *reply, error) {
	r := newReply(newNonce(), limit)
	x, err := dial(ctx, at, r, make(chan greeting, 1))
	if err != nil {
		return nil, nil, &downError{explainDial(at, err)}
	}
	over, err := x.send(params, body)
	if err != nil {
		x.close()
		return nil, nil, err
	}
	select {
	case <-over:
		return x, r, nil
	case <-ctx.Done():
		x.close()
		return nil, nil, ctx.Err()
	}
}

// answer says what came back.
func (a *Aide) answer(x *exchange, r *reply) ([]byte, error) {
	if !x.ended() {
		return nil, fmt.Errorf("connection to php-fpm lost: %w", x.conn.overErr)
	}
	f := facts{status: r.status, stderr: r.err.last(), output: r.out.head}
	if r.status >= 400 { // a fatal error is a 500
		return nil, fmt.Errorf("%s: %s", a.file.path, f.refusal())
	}
	if len(r.out.tail) > 0 {
		return nil, fmt.Errorf("%s: the answer has %d bytes, want at most %d", a.file.path, r.out.size, r.out.limit)
	}
	return r.out.head, nil
}
