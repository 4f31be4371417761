package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sidecar/queue"

	"github.com/BurntSushi/toml"
)

// field is one key a table may have, and what becomes of its value. The error of set says what is wanted.
// A field without set is a section: the builder opens it by itself.
type field struct {
	name string
	set  func(value any) error
}

// table is one table of the file on its way into options.
type table struct {
	doc   *document
	label string // as faults name it, with a colon: `topic "order_timeout": `; "" at the top
	head  int    // line of its header
	keys  map[string]toml.Primitive
	bad   map[string]bool   // keys that have a fault already
	inner map[string]*table // tables inside of it that Validate's faults may be about, by how these begin
}

// table opens p as a table named label. What is no table is a fault, and an empty table in its place.
func (d *document) table(label, want string, p toml.Primitive) *table {
	t := &table{doc: d, label: label + ": ", head: d.line(p), keys: d.children(p), bad: map[string]bool{}}
	if t.keys == nil {
		d.fault(t.head, "%s = %s: want %s", label, describe(d.value(p)), want)
	}
	return t
}

// section opens the table name of t. One that is absent has no keys.
func (t *table) section(name, want string) *table {
	p, ok := t.keys[name]
	if !ok {
		return &table{doc: t.doc, label: name + ": ", bad: map[string]bool{}}
	}
	return t.doc.table(name, want, p)
}

// decode hands every key of the table to its field, and reports those that have none.
func (t *table) decode(fields []field) {
	for _, name := range slices.Sorted(maps.Keys(t.keys)) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			t.unknown(name, fields)
			continue
		}
		if fields[i].set == nil {
			continue
		}
		value := t.doc.value(t.keys[name])
		for _, want := range split(fields[i].set(value)) {
			t.bad[name] = true
			t.fault(name, wordFault(name, value, want))
		}
	}
}

// unknown reports a key that no field answers to, and never its value.
func (t *table) unknown(name string, fields []field) {
	t.bad[name] = true
	shown := toml.Key{name}.String()
	near := nearest(name, fields)
	isTable := t.doc.children(t.keys[name]) != nil // [topics.x] is no option of another table
	switch homes := homesOf(name); {
	case isTable && near != "":
		t.bad[near] = true // what it stands for is not missing as well
		t.fault(name, fmt.Errorf("%s: unknown key, did you mean %s?", shown, near))
	case homes != "":
		t.fault(name, fmt.Errorf("%s: unknown key here, it belongs to %s", shown, homes))
	case near != "":
		t.bad[near] = true // what it stands for is not missing as well
		t.fault(name, fmt.Errorf("%s: unknown key, did you mean %s?", shown, near))
	case strings.Contains(strings.ToLower(name), "pass"):
		option, variable := "password_file", passwordVariable
		if strings.Contains(strings.ToLower(name), "sentinel") {
			option, variable = "sentinel_password_file", sentinelPasswordVariable
		}
		t.fault(name, fmt.Errorf("%s: unknown key; passwords are not written here: want %s in [redis], or %s in the environment", shown, option, variable))
	default:
		t.fault(name, fmt.Errorf("%s: unknown key; known are %s", shown, strings.Join(namesOf(fields), ", ")))
	}
}

// has reports whether the table sets name.
func (t *table) has(name string) bool {
	_, ok := t.keys[name]
	return ok
}

// line returns the line of name, of the table's header where it is not set.
func (t *table) line(name string) int {
	if p, ok := t.keys[name]; ok {
		return t.doc.line(p)
	}
	return t.head
}

// fault records what is wrong with the key name.
func (t *table) fault(name string, err error) { t.doc.fault(t.line(name), "%s%v", t.label, err) }

// faults records what Validate found, each fault at the line of the option it begins with.
// Fallbacks are the tables that may have set an option in t's place.
func (t *table) faults(err error, fallbacks ...*table) {
	for _, err := range split(err) {
		if inner, rest := t.innerOf(err); inner != nil {
			inner.faults(rest)
			continue
		}
		name := optionOf(err)
		home := t
		for _, other := range fallbacks {
			if !t.has(name) && other.has(name) {
				home = other
			}
		}
		if !home.bad[name] && !t.bad[name] {
			home.fault(name, err)
		}
	}
}

// innerOf returns the table inside of t that err is about, and what it says of it; nil if it is about none.
func (t *table) innerOf(err error) (*table, error) {
	for begin, inner := range t.inner {
		if rest, ok := strings.CutPrefix(err.Error(), begin); ok {
			return inner, errors.New(rest)
		}
	}
	return nil, nil
}

// optionOf returns the option that an error of Validate begins with.
func optionOf(err error) string {
	text := err.Error()
	if i := strings.IndexAny(text, " :["); i >= 0 {
		return text[:i]
	}
	return text
}

// split takes joined errors apart.
func split(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) // takes errors.Join apart, looks for nothing inside
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, split(err)...)
	}
	return all
}

// wordFault says what was found at name and what is wanted.
func wordFault(name string, value any, want error) error {
	shown := name
	if entry, ok := errors.AsType[entryError](want); ok {
		shown, value = fmt.Sprintf("%s[%d]", name, entry.index), entry.value
	}
	if _, isText := value.(string); secretive(name) && !isText {
		return fmt.Errorf("%s: %w", shown, want) // a password of digits, perhaps
	}
	return fmt.Errorf("%s = %s: %w", shown, describe(value), want)
}

// describe returns a value as a fault shows it.
func describe(value any) string {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "://") {
			v = queue.RedactURL(v)
		}
		if len(v) > 80 {
			return fmt.Sprintf("%q and more", strings.ToValidUTF8(v[:80], ""))
		}
		return fmt.Sprintf("%q", v)
	case int64, float64, bool:
		return fmt.Sprint(v)
	case []any, []map[string]any:
		return "an array"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}
