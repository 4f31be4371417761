package fastcgi

import (
	"context"
	"errors"
	"time"
)

const (
	// lookEvery is how often a run looks whether its child lives.
	lookEvery = time.Second
	// lastWordsPatience is how long what a child wrote before its end may take to be read.
	lastWordsPatience = time.Second
)

// errHeldOpen is why a run was cut off by us: what a script starts inherits FPM's connection, and while that lives
// no end comes from the other side, however dead the child is.
var errHeldOpen = errors.New("what it had started holds the connection")

// meet finds out which child said hello. On a unix socket that takes microseconds; on TCP it means to search tables,
// which is left to the first look, and to runs that are long enough for one.
func (r *run) meet() {
	if r.topic.pool.listen.unix() {
		r.child, _ = findChild(r.result.PID, 0, r.exchange.conn.Conn) // whoever is not certain is not watched
	}
	r.lookAgain = time.After(lookEvery)
}

// look makes the child's death the end of the run, where it can be seen.
func (r *run) look() {
	r.lookAgain = nil
	if r.child == nil && !r.topic.pool.listen.unix() {
		r.child, _ = findChild(r.result.PID, time.Since(r.begun), r.exchange.conn.Conn)
	}
	switch {
	case r.child == nil:
	case r.child.gone():
		r.mourn()
	default:
		r.lookAgain = time.After(lookEvery)
	}
}

// mourn waits for the end of a connection whose child is gone, but not for long.
func (r *run) mourn() {
	r.deadline, r.giveUp, r.lookAgain = nil, nil, nil
	r.lastWords = time.After(lastWordsPatience)
}

// cutOff ends the connection of a child that is gone.
func (r *run) cutOff(ctx context.Context) {
	r.lastWords = nil
	r.topic.log.WarnContext(ctx, "php-fpm's child is gone, and what it had started holds its connection: not waited for",
		"uuid", r.job.PlainUUID(), "pid", r.result.PID)
	_ = r.exchange.conn.Close() // the reply is over now
}

// meet finds out which child called back, as a run does of the one that said hello.
func (r *resident) meet() {
	l := &r.life
	if r.crew.topic.pool.listen.unix() {
		l.child, _ = findChild(l.call.PID, 0, l.exchange.conn.Conn)
	}
	l.lookAgain = time.After(lookEvery)
}

// lookForChild makes the child's death the end of the worker, where it can be seen. What the worker had written is read
// before both connections are closed.
func (r *resident) lookForChild(ctx context.Context) {
	l := &r.life
	l.lookAgain = nil
	if l.child == nil && !r.crew.topic.pool.listen.unix() {
		l.child, _ = findChild(l.call.PID, time.Since(r.greetedAt()), l.exchange.conn.Conn)
	}
	switch {
	case l.child == nil:
	case l.mourned:
		r.crew.log.WarnContext(ctx, "php-fpm's child is gone, and what it had started holds its connection: not waited for", "pid", l.call.PID)
		_ = l.call.conn.Close()
		_ = l.exchange.conn.Close() // the request is over now
	case l.child.gone():
		l.mourned, l.lookAgain = true, time.After(lastWordsPatience)
	default:
		l.lookAgain = time.After(lookEvery)
	}
}

// farewell is how long a worker may take from its last word to the end of its request, in which PHP calls the shutdown
// functions that jobs have registered: as long as a job, which they are part of, but not when the sidecar stops.
func (r *resident) farewell(ctx context.Context) time.Duration {
	if !r.life.bye.Load() || ctx.Err() != nil {
		return leavePatience
	}
	return max(leavePatience, r.crew.topic.routes.longest())
}
