package app

import (
	"context"
	"reflect"
	"strings"

	"sidecar/compat"
	"sidecar/internal/config"
)

// The results of a reload, as the metric spells them.
const (
	reloadDone    = "done"
	reloadSame    = "same"
	reloadRefused = "refused"
)

// reload reads the configuration again and builds the generation it describes. A configuration that
// does not hold is refused and logged; one that says nothing new only renews the resident workers, since their
// code may have changed in a way that nobody sees, such as a file that the bootstrap includes. Then it returns nil.
func (a *app) reload(ctx context.Context) *generation {
	refuse := func(err error) *generation {
		a.reloads.WithLabelValues(reloadRefused).Inc()
		a.log.ErrorContext(ctx, "reload refused, the old configuration stays", "error", err)
		a.noteRefusal(err.Error())
		return nil
	}
	cfg, err := a.opts.Load()
	if err != nil {
		return refuse(err)
	}
	old := a.generation().cfg
	if sameConfig(old, cfg) {
		a.reloads.WithLabelValues(reloadSame).Inc()
		a.noteRefusal("")
		if err := prepare(ctx, a.generation().pools); err != nil { // their files may have changed
			a.log.ErrorContext(ctx, "reload: what php-fpm needs is not all there", "error", err)
		}
		a.generation().renew()
		a.log.InfoContext(ctx, "reload: nothing has changed, resident workers are renewed")
		return nil
	}
	for _, w := range cfg.Warnings() {
		a.log.WarnContext(ctx, "configuration", "warning", w)
	}
	next, err := a.newGeneration(ctx, cfg)
	if err != nil {
		return refuse(err)
	}
	a.reloads.WithLabelValues(reloadDone).Inc()
	a.noteRefusal("")
	a.opts.Level.Set(cfg.Log.Level)
	a.tellChanges(ctx, config.Diff(old, cfg))
	return next
}

// refusalShown is how many characters of a refusal are told to others than the log: it names a line, and what is wrong there.
const refusalShown = 300

// noteRefusal keeps why a reload was refused, for all who look, until one is taken: who sent the signal may not see the log, and
// the next start would fail.
func (a *app) noteRefusal(text string) {
	text = strings.Join(strings.Fields(text), " ")
	if short := compat.Cut(text, refusalShown); short != text {
		text = short + "…"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refusal = text
}

// tellChanges says what a reload changes, a line each, and what only a start would.
func (a *app) tellChanges(ctx context.Context, changes []config.Change) {
	for _, c := range changes {
		switch {
		case atNextStart(c):
			a.log.WarnContext(ctx, "reload: this option takes effect at the next start only", "table", c.Table, "option", c.Option, "from", c.From, "to", c.To)
		case c.Option != "":
			a.log.InfoContext(ctx, "reload: option changed", "table", c.Table, "option", c.Option, "from", c.From, "to", c.To)
		case c.To != "":
			a.log.InfoContext(ctx, "reload: table added", "table", c.Table)
		default:
			a.log.InfoContext(ctx, "reload: table removed", "table", c.Table)
		}
	}
}

// atNextStart reports that a change is one of what outlives a reload.
func atNextStart(c config.Change) bool {
	switch c.Table {
	case "admin", "trace":
		return true
	case "":
		return c.Option == "pid_file" || c.Option == "log"
	}
	return false
}

// sameConfig reports whether two readings say the same. Patterns are compared by their text.
func sameConfig(a, b *config.Config) bool {
	flat := func(c *config.Config) config.Config {
		out := *c
		out.Topics = nil
		return out
	}
	if len(a.Topics) != len(b.Topics) || !reflect.DeepEqual(flat(a), flat(b)) {
		return false
	}
	for i := range a.Topics {
		x, y := a.Topics[i], b.Topics[i]
		if (x.FPM.SuccessBody == nil) != (y.FPM.SuccessBody == nil) ||
			x.FPM.SuccessBody != nil && x.FPM.SuccessBody.String() != y.FPM.SuccessBody.String() {
			return false
		}
		x.FPM.SuccessBody, y.FPM.SuccessBody = nil, nil
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}
