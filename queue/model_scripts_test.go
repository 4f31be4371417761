package queue_test

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"sidecar/queue"
)

// apply does to the model what a script call is to do to Redis, and returns what the call is to answer: of a
// reply only what says something about texts.
func (m *model) apply(c call) (reply []string, err error) {
	if m.denied != "" && slices.ContainsFunc(c.keys, m.isDenied) {
		return nil, errors.New("NOPERM") // by the keys that the call names, before the script runs
	}
	err = try(func() { reply = m.run(c) })
	return reply, err
}

func (m *model) isDenied(key string) bool {
	return key == m.denied || strings.HasSuffix(m.denied, "*") && strings.HasPrefix(key, strings.TrimSuffix(m.denied, "*"))
}

func (m *model) run(c call) []string {
	switch c.verb {
	case "promote":
		return m.promote(c.args)
	case "claim":
		return m.claim(c.args)
	case "renew":
		return m.renew(c.args)
	case "complete":
		return m.complete(c)
	case "completerows":
		return m.completeRows(c)
	case "requeue":
		return m.requeue(c)
	case "bury":
		return m.bury(c)
	case "expired":
		return m.until(m.keys.Running, m.ms(), int(number(c.args[0])))
	case "replay":
		return m.replay(c)
	case "setaside":
		return m.setAside(c.args[0])
	}
	panic("the model knows no " + c.verb)
}

func (m *model) promote(args []string) []string {
	m.touch(m.keys.Ready)
	if len(m.lists[m.keys.Ready]) >= int(number(args[1])) {
		return []string{"-1"}
	}
	texts := m.until(m.keys.Pool, m.ms()/m.unit, int(number(args[0])))
	for _, text := range texts {
		m.push(m.keys.Ready, text)
		m.remove(m.keys.Pool, text)
	}
	return []string{strconv.Itoa(len(texts))}
}

func (m *model) claim(args []string) (claimed []string) {
	m.touch(m.keys.Running, m.keys.Pool, m.keys.Ready)
	ready, length := m.lists[m.keys.Ready], number(args[1])
	n := min(len(ready), int(number(args[0])))
	lease := m.firstLease(length, n)
	for _, text := range ready[:n] {
		m.lists[m.keys.Ready] = m.lists[m.keys.Ready][1:]
		held, runs := m.sets[m.keys.Running][text]
		if runs { // its twin does: wait until that lease ends
			back := max(m.ms()+1000, min(held, m.ms()+length))
			m.add(m.keys.Pool, text, back/m.unit, true)
			text = ""
		} else {
			m.add(m.keys.Running, text, lease, false)
		}
		claimed = append(claimed, text)
		lease += leaseStep
	}
	return claimed
}

// leaseStep lies between the leases of one claim call (docs/decisions/0016).
const leaseStep = 1.0 / 2048

// firstLease is the first of n leases of that length: no whole millisecond lies among them.
func (m *model) firstLease(length float64, n int) float64 {
	first := m.ms() + 0.0005 + length
	if math.Floor(first) < math.Floor(first+float64(n)/2048) {
		return math.Ceil(first) + 0.0005
	}
	return first
}

func (m *model) renew(args []string) (reply []string) {
	m.touch(m.keys.Running)
	for part := range slices.Chunk(args, 3) {
		text, held, next := part[0], part[1], part[2]
		score, there := m.sets[m.keys.Running][text]
		if there && isLease(score, held) && number(next) > m.ms() {
			m.sets[m.keys.Running][text] = number(next)
		}
		ours := "0"
		if there && isLease(score, held, next) {
			ours = "1"
		}
		reply = append(reply, ours)
	}
	return reply
}

func (m *model) complete(c call) (reply []string) {
	m.touch(m.keys.Running)
	for part := range slices.Chunk(c.args[2:], 4) {
		text, held, next, mark := part[0], part[1], part[2], int(number(part[3]))
		if mark > 0 {
			m.marks[c.keys[mark-1]] = "done"
		}
		e := effect{verb: c.verb, text: text, lease: held, what: m.holder(text, held, next)}
		if e.what == queue.Settled {
			m.remove(m.keys.Running, text)
			m.ledger.of(text).done++
			e.moved = true
		}
		reply = append(reply, m.note(e))
	}
	return reply
}

// completeRows ends all jobs with leases from one to another, when there are as many as there should be.
func (m *model) completeRows(c call) (reply []string) {
	m.touch(m.keys.Running)
	for part := range slices.Chunk(c.args, 3) {
		texts := m.until(m.keys.Running, number(part[1]), math.MaxInt)
		texts = slices.DeleteFunc(texts, func(text string) bool { return m.sets[m.keys.Running][text] < number(part[0]) })
		if len(texts) != int(number(part[2])) {
			reply = append(reply, "0")
			continue
		}
		for _, text := range texts {
			lease := m.sets[m.keys.Running][text]
			m.remove(m.keys.Running, text)
			m.ledger.of(text).done++
			m.note(effect{verb: c.verb, text: text, lease: strconv.FormatFloat(lease, 'f', -1, 64), what: queue.Settled, moved: true})
		}
		reply = append(reply, "1")
	}
	return reply
}

// holder says whether we hold the text: Settled, Lost, or Gone.
func (m *model) holder(text, held, next string) queue.Settlement {
	score, there := m.sets[m.keys.Running][text]
	switch {
	case !there:
		return queue.Gone
	case isLease(score, held, next):
		return queue.Settled
	}
	return queue.Lost
}

func (m *model) note(e effect) string {
	m.effects = append(m.effects, e)
	return strconv.Itoa(int(e.what))
}

// move is one job of requeue or bury.
type move struct {
	text, held, next, mark string
	expired                bool
	add                    func()      // puts the new text where it is to go
	there                  func() bool // it lies there already
}

// requeue goes through its jobs from the last to the first.
func (m *model) requeue(c call) (reply []string) {
	m.touch(m.keys.Running)
	for _, part := range slices.Backward(slices.Collect(slices.Chunk(c.args[2:], 8))) {
		text, due, toReady := part[3], (m.ms()+number(part[4]))/m.unit, part[5] == "1"
		reply = append(reply, m.swap(c, move{
			text: part[0], held: part[1], next: part[2], mark: part[6], expired: part[7] == "1",
			add: func() {
				if toReady {
					m.unshift(m.keys.Ready, text)
					return
				}
				m.add(m.keys.Pool, text, due, false)
			},
			there: func() bool {
				return m.has(m.keys.Pool, text) || m.has(m.keys.Running, text) || m.inReady(text)
			},
		}))
	}
	return reply
}

func (m *model) bury(c call) (reply []string) {
	m.touch(m.keys.Running)
	for part := range slices.Chunk(c.args[1:], 6) {
		record := part[3]
		reply = append(reply, m.swap(c, move{
			text: part[0], held: part[1], next: part[2], mark: part[4], expired: part[5] == "1",
			add:   func() { m.push(m.keys.Dead, record) },
			there: func() bool { return m.has(m.keys.Dead, record) },
		}))
	}
	return reply
}

// swap settles one job of requeue or bury.
func (m *model) swap(c call, j move) string {
	e := effect{verb: c.verb, text: j.text, lease: j.held, what: m.holder(j.text, j.held, j.next)}
	from := m.keys.Running
	if e.what == queue.Gone && try(func() { from, e.what = m.gone(j) }) != nil {
		return "refused"
	}
	if e.what == queue.Settled || e.what == queue.Readded || from == m.keys.Pool {
		if try(j.add) != nil {
			return "refused"
		}
		if e.what == queue.Readded {
			m.ledger.of(j.text).readded++
		} else {
			m.remove(from, j.text)
		}
		e.moved = true
	}
	if mark := int(number(j.mark)); mark > 0 && e.what != queue.Lost && e.what != queue.Skipped && m.marks[c.keys[mark-1]] != "done" {
		delete(m.marks, c.keys[mark-1])
	}
	return m.note(e)
}

// gone is DESIGN 4's rule for a job whose running entry is gone. from is the pool where the text is to be
// swapped there.
func (m *model) gone(j move) (from string, what queue.Settlement) {
	if j.expired {
		return "", queue.Skipped
	}
	if j.there() {
		return "", queue.Gone
	}
	if m.has(m.keys.Pool, j.text) {
		return m.keys.Pool, queue.Gone
	}
	if number(j.held) <= m.ms() {
		return "", queue.Gone // it is with whoever took it
	}
	return "", queue.Readded
}

// inReady is the only look that an old Redis may refuse (LPOS), so a key of the wrong type refuses it, too.
func (m *model) inReady(text string) bool {
	return !m.broken[m.keys.Ready] && m.has(m.keys.Ready, text)
}

func (m *model) replay(c call) []string {
	m.touch(m.keys.Dead)
	dead := m.lists[m.keys.Dead]
	if len(dead) == 0 || dead[0] != c.args[0] {
		return []string{"0"}
	}
	m.add(m.keys.Pool, c.args[1], m.ms()/m.unit, false)
	m.lists[m.keys.Dead] = dead[1:]
	if len(c.keys) == 3 && m.marks[c.keys[2]] != "done" {
		delete(m.marks, c.keys[2])
	}
	return []string{"1"}
}

func (m *model) setAside(record string) []string {
	m.touch(m.keys.Dead)
	dead := m.lists[m.keys.Dead]
	if len(dead) == 0 || dead[0] != record {
		return []string{"0"}
	}
	m.lists[m.keys.Dead] = append(slices.Clone(dead[1:]), record)
	return []string{"1"}
}
