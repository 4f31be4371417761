package cli

import (
	"fmt"
	"io"
	"time"
)

// How often progress is told: on a terminal in place, elsewhere in a line of its own now and then.
const (
	progressSoon  = 200 * time.Millisecond
	progressLater = 5 * time.Second
)

// progress tells on stderr how far long work has come. What was done within its first moment is not worth a word.
type progress struct {
	out  io.Writer
	on   *terminal // nil: lines are appended
	said time.Time
	open bool // a line stands on the terminal that the next one takes the place of
}

func newProgress(env Env) *progress {
	return &progress{out: env.Stderr, on: env.errors, said: time.Now()}
}

// tell says how far the work has come, if it is time to.
func (p *progress) tell(format string, args ...any) {
	wait := progressLater
	if p.on != nil {
		wait = progressSoon
	}
	if time.Since(p.said) < wait {
		return
	}
	p.said = time.Now()
	text := fmt.Sprintf(format, args...)
	if p.on == nil {
		fmt.Fprintln(p.out, text)
		return
	}
	columns, _ := p.on.size()
	_, _ = io.WriteString(p.on.file, "\r")
	_, _ = io.WriteString(p.out, first(text, columns-1))
	_, _ = io.WriteString(p.on.file, "\x1b[K")
	p.open = true
}

// done clears the line that tell left.
func (p *progress) done() {
	if p.open {
		_, _ = io.WriteString(p.on.file, "\r\x1b[K")
	}
	p.open = false
}
