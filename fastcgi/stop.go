package fastcgi

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// killPatience is how long FPM may take to kill a child for us.
const killPatience = 2 * time.Second

// stop kills the script's child: by its pid where that is allowed and certain, else through FPM. Closing the
// connection would not stop it (FPM-FACTS 5). A child that has ended before counts as stopped.
func (r *run) stop(ctx context.Context) error {
	if err := r.topic.pool.stop(ctx, r.result.PID, r.killChild); err != nil {
		return err
	}
	r.facts.stopped = true
	r.mourn()
	return nil
}

// stop has the child pid killed: by kill where that can be, else by FPM.
func (p *Pool) stop(ctx context.Context, pid int, kill func() error) error {
	way := stoppedBySignal
	if err := kill(); err != nil {
		way = stoppedByFPM
		if askErr := p.kill(context.WithoutCancel(ctx), pid); askErr != nil {
			p.metrics.stopped(p.opts.Name, stoppedNot)
			return errors.Join(err, askErr)
		}
	}
	p.metrics.stopped(p.opts.Name, way)
	return nil
}

func (r *run) killChild() error {
	if r.child != nil {
		return r.child.kill()
	}
	return killChild(r.result.PID, time.Since(r.begun), r.exchange.conn.Conn)
}

// kill asks FPM to kill one of its children: first where the status page has a socket of its own, which answers
// while all children hang.
func (p *Pool) kill(ctx context.Context, pid int) error {
	at := []address{p.listen}
	if page, _ := p.opts.statusPage(); p.opts.ownStatusPage() {
		at = []address{page, p.listen}
	}
	var errs []error
	for _, at := range at {
		answer, err := p.askBridge(ctx, at, order{Mode: modeKill, PID: pid}, killPatience)
		switch {
		case err != nil:
		case answer.sign == nil:
			err = errors.New(answer.refusal())
		case answer.sign.Verdict == "done":
			return nil
		default:
			err = errors.New(answer.sign.Error)
		}
		errs = append(errs, fmt.Errorf("ask %s: %w", at, err))
	}
	return errors.Join(errs...)
}
