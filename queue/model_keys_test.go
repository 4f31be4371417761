package queue_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"sidecar/compat"
	"sidecar/queue"
)

// model is what a topic's keys hold, kept in memory, and what each script is to do with it: the contract in some
// 200 lines of Go. A script is no transaction: what it did before an error stays, here as well.
type model struct {
	keys    compat.DelayKeys
	opts    queue.Options
	now     int64 // µs, what TIME says
	sets    map[string]map[string]float64
	lists   map[string][]string
	marks   map[string]string // by key
	broken  map[string]bool   // keys that hold something of another type at present
	denied  string            // a key the sidecars' user may not touch at present
	full    bool              // Redis is at maxmemory
	ledger  ledger
	effects []effect
	unit    float64 // ms in one unit of the pool's scores
}

// effect is what a settling script did for one job.
type effect struct {
	verb, text, lease string
	what              queue.Settlement
	moved             bool // the call changed a key for it, marks apart
}

func newModel(keys compat.DelayKeys, opts queue.Options) *model {
	m := &model{
		keys: keys, opts: opts, now: 1_800_000_000_000_000, unit: 1,
		sets:   map[string]map[string]float64{keys.Pool: {}, keys.Running: {}},
		lists:  map[string][]string{keys.Ready: nil, keys.Dead: nil},
		marks:  map[string]string{},
		broken: map[string]bool{},
		ledger: ledger{},
	}
	if opts.ScoreUnit == queue.Seconds {
		m.unit = 1000
	}
	return m
}

// ms is Redis's time as the scripts reckon with it.
func (m *model) ms() float64 {
	seconds := float64(float64(m.now/1_000_000) * 1000) // on its own, or the compiler might fuse it with the addition
	return seconds + float64(m.now%1_000_000)/1000
}

// wrongTypeError is how the model stops in the middle of a script.
type wrongTypeError struct{ key string }

// Error says what Redis says.
func (w wrongTypeError) Error() string { return "WRONGTYPE " + w.key }

// touch is any command on keys: it fails on the one that holds something else.
func (m *model) touch(keys ...string) {
	for _, key := range keys {
		if m.broken[key] {
			panic(wrongTypeError{key})
		}
	}
}

// try runs commands as Lua's pcall and a client do: it returns the error.
func try(commands func()) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			refused, ok := fault.(wrongTypeError)
			if !ok {
				panic(fault)
			}
			err = refused
		}
	}()
	commands()
	return nil
}

// add is ZADD, or ZADD NX: where the member is there already, two copies have become one.
func (m *model) add(key, text string, score float64, nx bool) {
	m.touch(key)
	old, there := m.sets[key][text]
	if there {
		m.ledger.of(text).merged++
		if nx {
			score = old
		}
	}
	m.sets[key][text] = score
}

func (m *model) remove(key, text string) bool {
	m.touch(key)
	_, there := m.sets[key][text]
	delete(m.sets[key], text)
	return there
}

func (m *model) push(key string, texts ...string) {
	m.touch(key)
	m.lists[key] = append(slices.Clone(m.lists[key]), texts...)
}

func (m *model) unshift(key, text string) {
	m.touch(key)
	m.lists[key] = append([]string{text}, m.lists[key]...)
}

func (m *model) pop(key string) (text string, ok bool) {
	m.touch(key)
	if len(m.lists[key]) == 0 {
		return "", false
	}
	text, m.lists[key] = m.lists[key][0], m.lists[key][1:]
	return text, true
}

// until lists the texts of a set with scores up to most, in Redis's order, and not more than limit.
func (m *model) until(key string, most float64, limit int) []string {
	m.touch(key)
	set := m.sets[key]
	texts := slices.SortedFunc(maps.Keys(set), func(a, b string) int {
		return cmp.Or(cmp.Compare(set[a], set[b]), cmp.Compare(a, b))
	})
	n := 0
	for n < len(texts) && n < limit && set[texts[n]] <= most {
		n++
	}
	return texts[:n]
}

// has reports that a set, or the head of a list, holds text.
func (m *model) has(key, text string) bool {
	m.touch(key)
	_, scored := m.sets[key][text]
	return scored || slices.Contains(m.lists[key], text)
}

// number reads an argument of a script.
func number(arg string) float64 {
	n, err := strconv.ParseFloat(arg, 64)
	if err != nil {
		return 0
	}
	return n
}

// isLease reports that score is one of the leases, as ZSCORE prints it.
func isLease(score float64, leases ...string) bool {
	return slices.ContainsFunc(leases, func(lease string) bool { return lease != "" && number(lease) == score })
}

// state is the model's or Redis's content in one comparable text.
type state struct {
	Pool, Running map[string]float64
	Ready, Dead   []string
	Marks         map[string]string
}

func (m *model) state() state {
	return state{
		Pool: maps.Clone(m.sets[m.keys.Pool]), Running: maps.Clone(m.sets[m.keys.Running]),
		Ready: slices.Clone(m.lists[m.keys.Ready]), Dead: slices.Clone(m.lists[m.keys.Dead]),
		Marks: maps.Clone(m.marks),
	}
}

// String prints a state; maps come out sorted.
func (s state) String() string {
	return fmt.Sprintf("pool %v\nrunning %v\nready %q\ndead %q\nmarks %v", s.Pool, s.Running, s.Ready, s.Dead, s.Marks)
}

// texts lists every text of the four keys, dead records included as they are.
func (s state) texts() []string {
	list := slices.Concat(slices.Collect(maps.Keys(s.Pool)), slices.Collect(maps.Keys(s.Running)), s.Ready)
	return append(list, s.Dead...)
}
