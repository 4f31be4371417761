package alert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sidecar/queue"
)

// What the services take at most, less some room for their own fields.
const (
	dingTalkMost = 18_000
	weComMost    = 4096 - 100
	feishuMost   = 18_000
)

// body returns a message in the form that the kind of target takes.
func (t Target) body(m message) ([]byte, error) {
	var form any
	switch t.Kind {
	case DingTalk:
		form = t.dingTalk(m)
	case WeCom:
		form = t.weCom(m)
	case Feishu:
		form = t.feishu(m)
	case JSON:
		form = generic(m)
	default:
		return nil, fmt.Errorf("no such kind: %q", t.Kind)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it is no page, and people read it
	err := e.Encode(form)
	return b.Bytes(), err
}

func (t Target) dingTalk(m message) any {
	text := markdown(m, dingTalkMost)
	ids, all := t.mentioned()
	if len(ids) > 0 { // only who is named in the text, too, is rung
		text += "\n@" + strings.Join(ids, " @")
	}
	return map[string]any{
		"msgtype":  "markdown",
		"markdown": map[string]any{"title": m.title(), "text": text},
		"at":       map[string]any{"atUserIds": ids, "isAtAll": all},
	}
}

func (t Target) weCom(m message) any {
	ids, all := t.mentioned()
	if all {
		ids = append(ids, "all")
	}
	mentions := ""
	if len(ids) > 0 {
		mentions = "\n<@" + strings.Join(ids, "><@") + ">"
	}
	return map[string]any{
		"msgtype":  "markdown",
		"markdown": map[string]any{"content": markdown(m, weComMost-len(mentions)) + mentions},
	}
}

func (t Target) feishu(m message) any {
	type node map[string]string
	var lines [][]node
	for _, p := range m.paragraphs(feishuMost, 40) {
		lines = append(lines, []node{{"tag": "text", "text": p.head}})
		for _, line := range p.lines {
			lines = append(lines, []node{{"tag": "text", "text": "  " + line}})
		}
	}
	ids, all := t.mentioned()
	if all {
		ids = append(ids, "all")
	}
	var at []node
	for _, id := range ids {
		at = append(at, node{"tag": "at", "user_id": id})
	}
	if at != nil {
		lines = append(lines, at)
	}
	body := map[string]any{
		"msg_type": "post",
		"content":  map[string]any{"post": map[string]any{"zh_cn": map[string]any{"title": m.title(), "content": lines}}},
	}
	if t.Secret != "" {
		at := seconds(m.at)
		body["timestamp"], body["sign"] = at, feishuSign(at, string(t.Secret))
	}
	return body
}

// markdown writes a message of at most so many bytes in what both DingTalk and WeCom understand of it.
func markdown(m message, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n", m.title())
	for _, p := range m.paragraphs(most, len("\n**\n**\n")) {
		fmt.Fprintf(&b, "\n**%s**\n", p.head)
		for _, line := range p.lines {
			fmt.Fprintf(&b, "\n> %s\n", line)
		}
	}
	return b.String()
}

// mentioned returns who is to be mentioned, and whether everybody is.
func (t Target) mentioned() (ids []string, all bool) {
	ids = []string{}
	for _, id := range t.At {
		if id == "all" {
			all = true
			continue
		}
		ids = append(ids, id)
	}
	return ids, all
}

// The generic form. Its names are a promise (docs/alerts.md).
type genericBody struct {
	Version int            `json:"version"`
	Name    string         `json:"name"`
	SentAt  time.Time      `json:"sent_at"`
	Title   string         `json:"title"`
	Alarms  []genericAlarm `json:"alarms"`
}

type genericAlarm struct {
	State    string               `json:"state"` // firing, still, recovered or test
	Rule     string               `json:"rule"`
	Subject  string               `json:"subject"`
	Severity string               `json:"severity"`
	By       string               `json:"by,omitempty"`
	Since    time.Time            `json:"since,omitzero"`
	Until    time.Time            `json:"until,omitzero"`
	Readings []queue.AlarmReading `json:"readings"`
	Text     string               `json:"text"`
}

func generic(m message) genericBody {
	g := genericBody{Version: 1, Name: m.name, SentAt: m.at.In(m.zone), Title: m.title(), Alarms: []genericAlarm{}}
	for _, i := range m.items {
		p := m.paragraph(i)
		a := genericAlarm{
			State: string(i.news), Rule: i.alarm.Rule, Subject: i.alarm.Subject, Severity: i.alarm.Severity,
			By: i.alarm.By, Since: i.alarm.Since, Until: i.alarm.Over, Readings: i.alarm.Readings,
			Text: strings.Join(append([]string{p.head}, p.lines...), "\n"),
		}
		if a.Readings == nil {
			a.Readings = []queue.AlarmReading{}
		}
		g.Alarms = append(g.Alarms, a)
	}
	return g
}
