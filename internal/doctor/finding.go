package doctor

import (
	"cmp"
	"fmt"
	"slices"
)

// Level is how much a finding matters.
type Level int

// The levels.
const (
	Note    Level = iota + 1 // worth knowing, or not to be known
	Warning                  // will do harm one day
	Fault                    // jobs do not run, are lost, or will be
)

// String returns the level's name.
func (l Level) String() string {
	switch l {
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Fault:
		return "fault"
	}
	return "unknown"
}

// MarshalText writes the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Finding is one thing that was found.
type Finding struct {
	ID    string `json:"id"` // stable, see docs/doctor.md
	Level Level  `json:"level"`
	Where string `json:"where"` // redis …, topic …, fpm …, host, or the configuration's path
	Found string `json:"found"`
	Why   string `json:"why"` // why it matters
	Do    string `json:"do"`  // a command, or a line to set
}

// findings gathers what checks have to say.
type findings struct{ list []*Finding }

// say adds the finding with that id of the catalogue.
func (f *findings) say(id, where, format string, args ...any) *Finding {
	k := kindOf(id)
	found := &Finding{ID: id, Level: k.Level, Where: where, Found: fmt.Sprintf(format, args...), Why: k.Why, Do: k.Do}
	f.list = append(f.list, found)
	return found
}

// as sets another level than the usual one.
func (f *Finding) as(l Level) *Finding {
	f.Level = l
	return f
}

// because sets another reason than the usual one.
func (f *Finding) because(why string) *Finding {
	f.Why = why
	return f
}

// do sets a remedy that is more exact than the usual one.
func (f *Finding) do(format string, args ...any) *Finding {
	f.Do = fmt.Sprintf(format, args...)
	return f
}

// sorted returns the findings, the weightiest first, and otherwise in the order of the catalogue.
func (f *findings) sorted() []Finding {
	slices.SortStableFunc(f.list, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(rankOf(a.ID), rankOf(b.ID)), cmp.Compare(a.Where, b.Where))
	})
	list := make([]Finding, 0, len(f.list))
	for _, found := range f.list {
		list = append(list, *found)
	}
	return list
}

// Count returns how many findings are of that level.
func Count(list []Finding, l Level) (n int) {
	for _, f := range list {
		if f.Level == l {
			n++
		}
	}
	return n
}
