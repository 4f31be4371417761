package compat

import (
	"fmt"
	"unicode/utf8"
)

// field names a member of an object that its reader wants to find again.
type field int

// otherField stands for every member that has no name for the reader.
const otherField field = 0

// fieldCount is room for all fields of a job, and of a dead record.
const fieldCount = 11

// span is a piece of a text. The zero span is absent: no value begins where the object does.
type span struct{ start, end int }

func (p span) absent() bool { return p.end == 0 }

func (p span) of(text string) string { return text[p.start:p.end] }

// object is what one pass over the text of a JSON object finds out. It holds places, no copies.
type object struct {
	members [fieldCount]span // values by field, the last of duplicates
	tail    int              // where the last member ends: a new one goes here
	deep    bool             // nested so deep that json_decode would refuse it one level down
	fault   fault            // what json_decode refuses in it
}

// empty reports whether the object has no member at all.
func (o object) empty() bool { return o.members == [fieldCount]span{} }

// fault says why PHP's json_decode refuses a text that is JSON by the grammar.
type fault struct {
	why faultKind
	at  int // byte offset
}

type faultKind int

const (
	badUTF8 faultKind = iota + 1
	badSurrogate
	tooDeep
)

func (f fault) found() bool { return f.why != 0 }

func (f fault) err() error {
	switch f.why {
	case badUTF8:
		return fmt.Errorf("json_decode refuses it: invalid UTF-8 at byte %d", f.at)
	case badSurrogate:
		return fmt.Errorf("json_decode refuses it: half a surrogate pair at byte %d", f.at)
	case tooDeep:
		return fmt.Errorf("json_decode refuses it: nesting reaches %d levels at byte %d", MaxDepth, f.at)
	}
	return nil
}

// scanner walks over a JSON text without recursion: depth costs one bit a level.
type scanner struct {
	text  string
	pos   int
	open  nesting
	fault fault // the first one
}

// scanObject checks that text is one JSON object, with nothing but white space around it, and notes where
// its members are. name says which field a key is.
func scanObject(text string, name func(key string) field) (object, error) {
	s := scanner{text: text}
	o, err := s.object(name)
	if err != nil {
		return object{}, err
	}
	if !s.fault.found() && !utf8.ValidString(text) {
		s.fault = fault{badUTF8, validPrefix(text)}
	}
	o.deep = s.open.deepest >= MaxDepth-1
	o.fault = s.fault
	return o, nil
}

func (s *scanner) object(name func(key string) field) (o object, err error) {
	s.space()
	if s.peek() != '{' {
		return o, s.wanted("'{'")
	}
	o.tail = s.pos + 1
	if open, _ := s.value(); open { // a brace is always taken
		if err := s.members(&o, name); err != nil {
			return o, err
		}
	}
	s.space()
	if s.pos < len(s.text) {
		return o, s.wanted("nothing more")
	}
	return o, nil
}

// members walks from behind the outermost brace to behind its match, over all that is nested between.
func (s *scanner) members(o *object, name func(key string) field) error {
	var member field // the outermost member we are in
	var start int    // where its value starts
	for {
		if s.open.inObject() {
			key, err := s.key()
			if err != nil {
				return err
			}
			if s.open.depth == 1 {
				member, start = name(unquote(key)), s.pos // "\u0072etry" is retry, as for PHP
			}
		}
		open, err := s.value()
		if err != nil {
			return err
		}
		for !open { // a value has ended, and with it perhaps what it is in
			if s.open.depth == 1 {
				o.members[member] = span{start, s.pos}
				o.tail = s.pos
			}
			more, err := s.next()
			if err != nil {
				return err
			}
			if s.open.depth == 0 {
				return nil
			}
			open = more
		}
	}
}

// key moves past a key and its colon to the value, and returns the key with its quotes.
func (s *scanner) key() (string, error) {
	start := s.pos
	if s.peek() != '"' {
		return "", s.wanted("a key")
	}
	if err := s.str(); err != nil {
		return "", err
	}
	key := s.text[start:s.pos]
	s.space()
	if s.peek() != ':' {
		return "", s.wanted("':'")
	}
	s.pos++
	s.space()
	return key, nil
}

// value moves past a scalar or an empty container. Of any other container it takes only the opening bracket,
// and reports it open.
func (s *scanner) value() (open bool, err error) {
	switch c := s.peek(); c {
	case '"':
		return false, s.str()
	case '{', '[':
		s.enter(c == '{')
		s.space()
		if s.peek() == c+2 { // in ASCII ']' and '}' stand two behind '[' and '{'
			s.leave()
			return false, nil
		}
		return true, nil
	case 't':
		return false, s.literal("true")
	case 'f':
		return false, s.literal("false")
	case 'n':
		return false, s.literal("null")
	default:
		return false, s.number()
	}
}

// next moves on behind a value: past a comma, and there is more, or past the closing bracket.
func (s *scanner) next() (more bool, err error) {
	s.space()
	closer := byte(']')
	if s.open.inObject() {
		closer = '}'
	}
	switch s.peek() {
	case ',':
		s.pos++
		s.space()
		return true, nil
	case closer:
		s.leave()
		return false, nil
	}
	return false, s.wanted(fmt.Sprintf("',' or '%c'", closer))
}

// enter moves past the opening bracket of a container.
func (s *scanner) enter(brace bool) {
	s.open.push(brace)
	if s.open.depth == MaxDepth {
		s.refused(tooDeep, s.pos)
	}
	s.pos++
}

// leave moves past its closing bracket.
func (s *scanner) leave() {
	s.open.pop()
	s.pos++
}

// refused notes what json_decode would stumble over first.
func (s *scanner) refused(why faultKind, at int) {
	if !s.fault.found() {
		s.fault = fault{why, at}
	}
}

// wanted returns the error of finding something else than want at pos. It shows one byte, not the payload.
func (s *scanner) wanted(want string) error {
	if s.pos >= len(s.text) {
		return fmt.Errorf("it ends at byte %d, want %s", s.pos, want)
	}
	if c := s.text[s.pos]; c > ' ' && c < utf8.RuneSelf {
		return fmt.Errorf("found %q at byte %d, want %s", c, s.pos, want)
	}
	return fmt.Errorf("found byte 0x%02x at byte %d, want %s", s.text[s.pos], s.pos, want)
}
