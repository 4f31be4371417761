package mask

import (
	"errors"
	"strings"
)

// anyName is a segment of a rule that every name matches.
const anyName = "*"

// rule is one rule of the configuration, its names in lower case.
type rule struct {
	names    []string
	anywhere bool // it may begin at any depth: a bare name, or one behind "*."
}

// Check reports what is wrong with a rule. It is a field's name, which is hidden wherever it stands, or a path of names
// with dots between them, from the outermost object on; "*" stands for any name, at the beginning for any number of them.
func Check(text string) error {
	if text == "" {
		return errors.New(`want a field's name or path, such as "phone", "*.id_card" or "payload.user.*"`)
	}
	all := true
	for name := range strings.SplitSeq(text, ".") {
		if name == "" || strings.Contains(name, anyName) && name != anyName {
			return errors.New(`want names with single dots between them, each whole or "*"`)
		}
		all = all && name == anyName
	}
	if all {
		return errors.New("want a name in it: show_payload = false hides everything")
	}
	return nil
}

func parseRule(text string) rule {
	names := strings.Split(strings.ToLower(text), ".")
	r := rule{names: names, anywhere: len(names) == 1}
	if len(names) > 1 && names[0] == anyName {
		r.names, r.anywhere = names[1:], true
	}
	return r
}

// hides reports that the rule hides the field at path, whose names are in lower case.
func (r rule) hides(path []string) bool {
	from := len(path) - len(r.names)
	if from < 0 || from > 0 && !r.anywhere {
		return false
	}
	for i, name := range r.names {
		if name != anyName && name != path[from+i] {
			return false
		}
	}
	return true
}

// open reports that the rule ends with "*": outside of JSON it can only be followed by what stands before that.
func (r rule) open() bool { return r.names[len(r.names)-1] == anyName }

// last returns the last name of the rule that is one.
func (r rule) last() string {
	for i := len(r.names) - 1; i > 0; i-- {
		if r.names[i] != anyName {
			return r.names[i]
		}
	}
	return r.names[0]
}
