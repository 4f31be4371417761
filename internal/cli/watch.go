package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// watch shows one thing again and again: on a terminal in place, elsewhere one below the other.
type watch struct {
	every time.Duration
	count int // how often; 0 = until told to stop
}

// frame draws what was seen at one moment, on so many columns and lines at most; 0 of them are as many as it takes.
type frame func(w io.Writer, columns, lines int)

// run shows what look returns until count is reached, q or Ctrl-C comes, or look fails for good: a look that only could
// not see is a frame that says so.
func (w watch) run(env Env, look func(context.Context) (frame, error)) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	screen := openScreen(env)
	defer screen.close()
	for n := 1; ; n++ {
		shown, err := look(ctx)
		if ctx.Err() != nil {
			return exitOK
		}
		if err != nil {
			screen.close()
			return report(env, exitFailed, err)
		}
		screen.show(shown)
		if n == w.count || !screen.wait(ctx, w.every) {
			return exitOK
		}
	}
}

// screen is where frames are shown.
type screen struct {
	out      io.Writer
	on       *terminal // nil: frames are appended
	keys     *terminal // nil: there is nobody to press any
	undoKeys func()
	last     frame
}

// What a terminal is told: another page without a cursor, and back; from the top; the rest of the line, of the page is empty.
const (
	screenOpen  = "\x1b[?1049h\x1b[?25l"
	screenClose = "\x1b[?25h\x1b[?1049l"
	screenHome  = "\x1b[H"
	lineEnd     = "\x1b[K\n"
	screenEnd   = "\x1b[J"
)

func openScreen(env Env) *screen {
	s := &screen{out: env.Stdout, on: env.terminal}
	if s.on == nil || os.Getenv("TERM") == "dumb" {
		s.on = nil
		return s
	}
	if env.keyboard != nil {
		if undo, err := env.keyboard.listen(); err == nil {
			s.keys, s.undoKeys = env.keyboard, undo
		}
	}
	_, _ = io.WriteString(s.on.file, screenOpen)
	return s
}

// close gives the terminal back, with the last frame left on it. It may be called twice.
func (s *screen) close() {
	if s.on == nil {
		return
	}
	_, _ = io.WriteString(s.on.file, screenClose)
	if s.undoKeys != nil {
		s.undoKeys()
	}
	if s.last != nil {
		columns, _ := s.on.size()
		s.last(s.out, columns, 0)
	}
	s.on, s.keys = nil, nil
}

func (s *screen) show(f frame) {
	s.last = f
	if s.on == nil {
		f(s.out, 0, 0)
		return
	}
	columns, lines := s.on.size()
	var page bytes.Buffer
	colour := false
	if v, ok := s.out.(visible); ok {
		colour = v.colour
	}
	f(visible{&page, colour}, columns, lines-1) // the last line would scroll
	drawn := bytes.ReplaceAll(page.Bytes(), []byte("\n"), []byte(lineEnd))
	_, _ = io.WriteString(s.on.file, screenHome+string(drawn)+screenEnd)
}

// wait returns true after d, and false as soon as somebody wants it to end.
func (s *screen) wait(ctx context.Context, d time.Duration) bool {
	until := time.Now().Add(d)
	for s.keys != nil && time.Now().Before(until) {
		key, open := s.keys.key()
		switch {
		case ctx.Err() != nil, key == 'q', key == 'Q':
			return false
		case !open:
			s.keys = nil
		}
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
