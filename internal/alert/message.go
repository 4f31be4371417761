package alert

import (
	"fmt"
	"strings"
	"time"
)

// message is what one target is told at once.
type message struct {
	name     string
	at       time.Time
	zone     *time.Location
	language string
	items    []item
}

// mostItems is how many alarms one message names; the rest is a number.
const mostItems = 20

// paragraph is what a message says of one alarm.
type paragraph struct {
	head  string
	lines []string
}

// title returns the message's first line. It holds the word "sidecar" in every language: robots can be told to take
// only messages with a key word.
func (m message) title() string { return fmt.Sprintf(wordsOf(m.language).title, m.name) }

// paragraphs returns what the message says, in at most so many bytes, with separators of so many between the lines.
func (m message) paragraphs(most, separators int) (all []paragraph) {
	w := wordsOf(m.language)
	left := most - len(m.title()) - separators
	for n, i := range m.items {
		p := m.paragraph(i)
		size := len(p.head) + separators
		for _, line := range p.lines {
			size += len(line) + separators
		}
		last := fmt.Sprintf(w.more, len(m.items)-n)
		if n == mostItems || size > left-len(last)-separators && n > 0 {
			return append(all, paragraph{head: last})
		}
		all = append(all, p)
		left -= size
	}
	return all
}

func (m message) paragraph(i item) paragraph {
	w := wordsOf(m.language)
	if i.news == trial {
		return paragraph{head: w.news[trial], lines: []string{w.trial}}
	}
	words := []string{w.news[i.news], w.severities[i.alarm.Severity], i.alarm.Rule}
	if i.alarm.Subject != "" {
		words = append(words, i.alarm.Subject)
	}
	p := paragraph{head: strings.Join(words, " · ")}
	if i.news == recovered {
		p.lines = append(p.lines, fmt.Sprintf(w.after, lasting(i.alarm.Over.Sub(i.alarm.Since))))
		return p
	}
	for _, r := range i.alarm.Readings {
		p.lines = append(p.lines, w.reading(r))
	}
	if i.alarm.By != "" {
		p.lines = append(p.lines, fmt.Sprintf(w.by, i.alarm.By))
	}
	p.lines = append(p.lines, fmt.Sprintf(w.since, i.alarm.Since.In(m.zone).Format("2006-01-02 15:04:05 -07:00")))
	return p
}
