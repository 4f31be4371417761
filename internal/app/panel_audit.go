package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidecar/compat"
	"sidecar/internal/dash"
	"sidecar/queue"
)

// auditShown is how many lines of the trail are shown.
const auditShown = 500

// note writes a line of the trail.
func (p *panel) note(ctx context.Context, g *generation, line queue.Audited) {
	line.By = dash.Viewing(ctx).Name
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pagePatience)
	defer cancel()
	p.noted(ctx, line, g.audit().Add(ctx, line))
}

// noted logs what was done, as the trail has it. What is done is done: a trail that cannot be written is told of in the log.
func (p *panel) noted(ctx context.Context, line queue.Audited, err error) {
	p.log.InfoContext(ctx, "changed by hand", "by", line.By, "verb", line.Verb, "topic", line.Topic, "count", line.Count, "file", line.File)
	if err != nil {
		p.log.WarnContext(ctx, "audit trail cannot be written", "error", err)
	}
}

func (g *generation) audit() queue.Audit { return queue.NewAudit(g.eyes, g.cfg.Redis.KeyPrefix) }

// Audit implements dash.Source.
func (p *panel) Audit(ctx context.Context, topic string) ([]dash.AuditLine, error) {
	g := p.generation()
	if g == nil {
		return nil, fmt.Errorf("%w: the sidecar is starting", dash.ErrRedis)
	}
	if topic != "" {
		if _, _, _, err := p.find(topic); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	lines, err := g.audit().Recent(ctx, auditShown)
	if err != nil {
		return nil, trouble(err)
	}
	if topic != "" {
		lines = slices.DeleteFunc(lines, func(line queue.Audited) bool { return line.Topic != topic })
	}
	return p.auditLines(lines), nil
}

// auditLines are lines, the newest first, as they are shown. What was taken back cannot be once more.
func (p *panel) auditLines(lines []queue.Audited) []dash.AuditLine {
	list := make([]dash.AuditLine, 0, len(lines))
	undone := make(map[string]bool)
	for _, line := range lines {
		undone[line.File] = undone[line.File] || line.Verb == dash.VerbUndo
		shown := p.auditLine(line)
		if undone[line.File] {
			shown.Undo = ""
		}
		list = append(list, shown)
	}
	return list
}

func (p *panel) auditLine(line queue.Audited) dash.AuditLine {
	return dash.AuditLine{
		At: line.At, By: line.By, Verb: line.Verb, Topic: line.Topic, Count: int64(line.Count), Filter: p.mask.Text(line.Filter),
		UUID: p.id(line.UUID), File: line.File, Note: line.Note, Undo: p.undoable(line),
	}
}

// auditOf is what was done to one job by hand. That it cannot be read is no reason to show no job.
func (p *panel) auditOf(ctx context.Context, g *generation, topic, uuid string) []dash.AuditLine {
	lines, err := g.audit().Recent(ctx, queue.AuditKept)
	if err != nil || uuid == "" {
		return nil
	}
	return p.auditLines(queue.ByHandTo(lines, compat.PlainUUID(uuid), []string{topic}).Own)
}

// filterText is how an act's jobs were chosen, as the trail has it.
func filterText(act dash.Act) string {
	if n := len(act.Refs); n > 0 {
		return fmt.Sprintf("%d selected", n)
	}
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf("%s=%q", name, value))
		}
	}
	f := act.Filter
	add("error", f.Error)
	add("like", f.Like)
	add("type", f.Type)
	add("uuid", f.UUID)
	add("from", typed(f.From))
	add("to", typed(f.To))
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, " ")
}

// typed returns a time that somebody typed as the audit trail spells it, "" for none.
func typed(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.RFC3339)
}
