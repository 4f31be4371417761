package cli

import (
	"context"
	"fmt"
	"time"

	"sidecar/compat"
	"sidecar/internal/plural"
	"sidecar/internal/shell"
	"sidecar/queue"
)

// byHand is a line of the audit trail about a job that is nowhere. Its JSON names are a promise.
type byHand struct {
	At      string `json:"at"` // in the configuration's time zone
	By      string `json:"by"`
	Verb    string `json:"verb"`
	Topic   string `json:"topic"`
	Count   int    `json:"count"`
	UUID    string `json:"uuid,omitempty"` // "": the line is of several jobs, which it may have been among
	File    string `json:"file,omitempty"`
	Meaning string `json:"meaning"`
}

// byHand adds what people did to a job that is nowhere. A trail that this user may not read tells nothing.
func (l lookFor) byHand(ctx context.Context) {
	r := l.result
	if r.UUID == "" || len(r.Jobs) > 0 || len(r.Marks) > 0 {
		return
	}
	lines, err := queue.NewAudit(l.rdb, l.cfg.Redis.KeyPrefix).Recent(ctx, queue.AuditKept)
	if err != nil {
		return
	}
	name := compat.PlainUUID(r.UUID)
	found := queue.ByHandTo(lines, name, r.Topics)
	for _, line := range found.Own {
		r.ByHand = append(r.ByHand, l.lineOf(line, name, l.own(line)))
	}
	if len(found.Own) > 0 {
		return
	}
	for _, line := range found.Several[:min(queue.SeveralShown, len(found.Several))] {
		r.ByHand = append(r.ByHand, l.lineOf(line, "", l.several(line, name)))
	}
}

func (l lookFor) lineOf(line queue.Audited, uuid, meaning string) byHand {
	return byHand{l.moment(line.At), line.By, line.Verb, line.Topic, line.Count, uuid, line.File, meaning}
}

func (l lookFor) moment(at time.Time) string { return compat.FormatAt(at, l.cfg.Timezone) }

// own says what a line means for the job that it is about.
func (l lookFor) own(line queue.Audited) string {
	who := fmt.Sprintf("by %s at %s", line.By, l.moment(line.At))
	switch line.Verb {
	case queue.VerbDrop:
		return fmt.Sprintf("it was dropped %s: %s takes that back", who, sidecarLine(l.cfg, "dead", "undo", line.File))
	case queue.VerbReplay:
		return fmt.Sprintf("it was replayed %s, and most likely has run since", who)
	case queue.VerbUndo:
		return fmt.Sprintf("it was put back into dead %s, and has left it since", who)
	}
	return fmt.Sprintf("it was let run now %s, and most likely has run since", who)
}

// several says what a line about several jobs may mean for the one of that name.
func (l lookFor) several(line queue.Audited, name string) string {
	return fmt.Sprintf("it may be among the %s of %s that %s %s at %s: grep -c %s %s", plural.Of(line.Count, "job", "jobs"), line.Topic,
		line.By, past(line.Verb), l.moment(line.At), shell.Word(name), shell.Word(line.File))
}
