package fastcgi

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// unread reports that the worker ended without having read all that was sent to it: the kernel says so on a unix socket.
func (l *life) unread() bool {
	_, unix := l.call.conn.(*net.UnixConn)
	return unix && errors.Is(l.readErr, syscall.ECONNRESET)
}

// hearOut returns what has been said on stderr since it was last asked: all that was sent up to now, unless it takes
// more than 10 ms to read that.
func (l *life) hearOut(ctx context.Context) []byte {
	const tries = 200
	for range tries {
		if l.attentive.noted() {
			break
		}
		pauseFor(ctx, 50*time.Microsecond)
	}
	return l.reply.takeStderr()
}

// forgetStderr throws away what jobs that are done have said, which nobody wants to read, and reports whether they have
// said anything. Where some do, all of it must be gone before the next begins.
func (r *resident) forgetStderr(ctx context.Context) (said bool) {
	if r.crew.noisy.Load() > 0 {
		return len(r.life.hearOut(context.WithoutCancel(ctx))) > 0
	}
	return len(r.life.reply.takeStderr()) > 0
}

// describe adds to a result what is known of the worker.
func (l *life) describe(to *Result) {
	to.PID, to.PHP, to.Boot, to.Waited = l.call.PID, l.call.PHP, l.boot, l.waited
	if to.Started {
		return
	}
	to.Started = l.greeted
	to.Output, _ = l.reply.out.all()
}
