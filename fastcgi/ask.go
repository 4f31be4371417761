package fastcgi

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// askBridge makes a request of the sidecar's own to the bridge.
func (p *Pool) askBridge(ctx context.Context, at address, o order, patience time.Duration) (facts, error) {
	o.Nonce = newNonce()
	o.Socket = p.reports.address(ctx)
	params, err := bridgeParams(p.bridge.path, o, "{}")
	if err != nil {
		return facts{}, err
	}
	return p.ask(ctx, at, params, o.Nonce, patience)
}

// ask makes a request of the sidecar's own and waits for its end. A *downError says that FPM is not there,
// errBusy that no child was free.
//
// A request that is given up on a unix socket is certain not to begin later if it says hello first, as kill does.
func (p *Pool) ask(ctx context.Context, at address, params map[string]string, n nonce, patience time.Duration) (facts, error) {
	r := newReply(n, 16<<10)
	hello := make(chan greeting, 1)
	x, err := dial(ctx, at, r, hello)
	if err != nil {
		return facts{}, &downError{explainDial(at, err)}
	}
	defer x.close()
	over, err := x.send(params, "{}")
	if err != nil {
		return facts{}, err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-over:
		return p.answer(x, r, n)
	case <-timer.C:
	case <-ctx.Done():
	}
	if !x.conn.closeRead() {
		x.conn.reset()
	}
	<-over // what had arrived has been read; nothing more can
	if r.greeted || x.ended() {
		return p.answer(x, r, n)
	}
	if ctx.Err() != nil {
		return facts{}, errors.Join(errBusy, ctx.Err())
	}
	return facts{}, fmt.Errorf("%w within %s: php-fpm hangs, all its children are busy, or what listens there is not php-fpm", errBusy, patience)
}

// answer says what came back.
func (p *Pool) answer(x *exchange, r *reply, n nonce) (facts, error) {
	if !x.ended() {
		return facts{}, &downError{fmt.Errorf("connection lost during a check: %w", x.conn.overErr)}
	}
	f := facts{ending: answered, status: r.status, stderr: n.withoutHello(r.err.last()), output: r.out.head}
	if s, _, _, ok := n.find(r.out.last()); ok {
		f.sign = &s
	}
	return f, nil
}
