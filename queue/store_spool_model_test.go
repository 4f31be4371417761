package queue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"sidecar/queue"
)

// spoolModel is a table, and sidecars that drain it all at once and are held up, cut off and killed at any moment.
type spoolModel struct {
	t      *testing.T
	random *rand.Rand
	inlet  *queue.Inlet

	nextID  int64
	reading int64
	stored  []string           // texts of all rows ever made
	hidden  []queue.SpoolRow   // rows whose transactions are open
	table   []queue.SpoolRow   // in the order of their ids
	inHand  []queue.Spooling   // readings that somebody has yet to offer
	settled [][]queue.SpoolRow // rows that somebody has yet to delete
	offered []queue.Spooling   // those that may arrive at Redis once more
}

func (m *spoolModel) store() {
	m.nextID++
	row := queue.SpoolRow{ID: m.nextID, Ticket: fmt.Sprintf("%016x%016x", m.random.Uint64(), m.random.Uint64()), Text: strconv.Itoa(len(m.stored))}
	m.stored = append(m.stored, row.Text)
	if m.random.IntN(3) == 0 {
		m.hidden = append(m.hidden, row)
		return
	}
	m.table = append(m.table, row)
}

// commit lets one open transaction end.
func (m *spoolModel) commit() {
	if len(m.hidden) == 0 {
		return
	}
	at := m.random.IntN(len(m.hidden))
	m.table = append(m.table, m.hidden[at])
	m.hidden = slices.Delete(m.hidden, at, at+1)
	slices.SortFunc(m.table, func(a, b queue.SpoolRow) int { return int(a.ID - b.ID) })
}

// read takes up to three rows, from the beginning or from somewhere in the middle.
func (m *spoolModel) read() {
	m.reading++
	after := int64(0)
	if m.random.IntN(3) == 0 && m.nextID > 0 {
		after = m.random.Int64N(m.nextID)
	}
	var rows []queue.SpoolRow
	for _, row := range m.table {
		if row.ID > after {
			rows = append(rows, row)
		}
	}
	most := 1 + m.random.IntN(3)
	s := spooling(m.reading, rows[:min(most, len(rows))])
	s.After, s.Last = after, len(rows) < most
	if len(s.Rows) > 0 {
		m.inHand = append(m.inHand, s)
	}
}

// offer offers one of list, takes it off unless it is to arrive again, and hands on what may be deleted.
func (m *spoolModel) offer(list *[]queue.Spooling) {
	if len(*list) == 0 {
		return
	}
	at := m.random.IntN(len(*list))
	s := (*list)[at]
	*list = slices.Delete(*list, at, at+1)
	if m.random.IntN(2) == 0 {
		m.offered = append(m.offered, s)
	}
	done, err := m.inlet.Spool(m.t.Context(), s)
	if err != nil {
		m.t.Fatal(err)
	}
	m.reading = max(m.reading, done.Later)
	if m.random.IntN(4) == 0 {
		return // killed, or the reply was lost
	}
	var in []queue.SpoolRow
	for i, row := range s.Rows {
		if done.In != nil && done.In[i] {
			in = append(in, row)
		}
	}
	m.settled = append(m.settled, in)
}

func (m *spoolModel) remove() {
	if len(m.settled) == 0 {
		return
	}
	at := m.random.IntN(len(m.settled))
	for _, gone := range m.settled[at] {
		m.table = slices.DeleteFunc(m.table, func(row queue.SpoolRow) bool { return row.ID == gone.ID && row.Ticket == gone.Ticket })
	}
	m.settled = slices.Delete(m.settled, at, at+1)
}

// step lets something happen.
func (m *spoolModel) step() {
	switch m.random.IntN(10) {
	case 0, 1:
		m.store()
	case 2:
		m.commit()
	case 3, 4:
		m.read()
	case 5, 6:
		m.offer(&m.inHand)
	case 7, 8:
		m.remove()
	case 9:
		if m.random.IntN(3) == 0 {
			m.offer(&m.offered)
		}
	}
}

// finish drains what is left, as one sidecar does.
func (m *spoolModel) finish() {
	for len(m.hidden) > 0 {
		m.commit()
	}
	for len(m.table) > 0 {
		m.read()
		m.offer(&m.inHand)
		m.remove()
	}
}

// Two sidecars, late rows, lost replies, kills, and packets that arrive again a long time later: each row comes in once.
func TestEveryRowComesInExactlyOnceWhateverHappens(t *testing.T) {
	b := newBench(t, nil)
	seed := uint64(time.Now().UnixNano()) //nolint:forbidigo // a seed
	for round := range uint64(15) {
		b.do(t, "FLUSHALL")
		m := &spoolModel{t: t, random: rand.New(rand.NewPCG(seed, round)), inlet: queue.NewInlet(b.rdb, "")}
		for range 400 {
			m.step()
		}
		m.finish()
		for len(m.offered) > 0 && m.random.IntN(20) > 0 {
			m.offer(&m.offered)
		}
		got := b.rdb.LRange(t.Context(), smsList, 0, -1).Val()
		slices.Sort(got)
		slices.Sort(m.stored)
		if !slices.Equal(got, m.stored) {
			t.Fatalf("seed %d, round %d: in the list are %d, want the %d that were stored, once each:\n%v\n%v",
				seed, round, len(got), len(m.stored), got, m.stored)
		}
	}
}
