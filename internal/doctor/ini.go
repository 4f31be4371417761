package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// section is one [name] of a file in ini format: what is set last, holds.
type section map[string]string

// ini is such a file, by section; what stands before the first is in "".
type ini map[string]section

// iniReader reads ini files and those that they include, as PHP-FPM does.
type iniReader struct {
	root  string            // before every path
	env   map[string]string // what ${NAME} stands for; nil: not known
	depth int
}

// maxIncludes is how deep files may include others; FPM's limit is 10.
const maxIncludes = 10

// read adds what the file says to into.
func (r iniReader) read(path string, into ini) error {
	text, err := os.ReadFile(filepath.Join(r.root, path))
	if err != nil {
		return err
	}
	if r.depth++; r.depth > maxIncludes {
		return fmt.Errorf("%s: includes more than %d files in each other", path, maxIncludes)
	}
	var errs []error
	name := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == ';' || line[0] == '#':
		case line[0] == '[':
			name, _, _ = strings.Cut(line[1:], "]")
		default:
			key, value, _ := strings.Cut(line, "=")
			key, value = strings.TrimSpace(key), unquoted(value)
			if key == "include" {
				errs = append(errs, r.include(path, value, into))
				continue
			}
			if into[name] == nil {
				into[name] = section{}
			}
			if value = r.expand(value); isUntold(value) {
				errs = append(errs, fmt.Errorf("%s: %s = %s: the environment that PHP-FPM was started with is not seen here", path, key, value))
			}
			into[name][key] = strings.ReplaceAll(value, "$pool", name)
		}
	}
	return errors.Join(errs...)
}

// variable is ${NAME}, or ${NAME:-what holds without it}.
var variable = regexp.MustCompile(`\$\{([^}:]+)(?::-[^}]*)?\}`)

// expand puts in what stands in the environment. What does not may have stood there: PHP-FPM writes its title over it.
func (r iniReader) expand(value string) string {
	return variable.ReplaceAllStringFunc(value, func(ref string) string {
		return cmp.Or(r.env[variable.FindStringSubmatch(ref)[1]], ref)
	})
}

// isUntold reports that a value has variables whose values are not known.
func isUntold(value string) bool { return variable.MatchString(value) }

// environOf returns what a process was started with, nil where this user may not see it.
func environOf(pid int) map[string]string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	env := map[string]string{}
	for one := range strings.SplitSeq(string(text), "\x00") {
		if name, value, ok := strings.Cut(one, "="); ok {
			env[name] = value
		}
	}
	return env
}

// include reads every file that the pattern fits. A relative one begins at the prefix that FPM was built for, which is one
// of the directories above the file that includes.
func (r iniReader) include(from, pattern string, into ini) error {
	base := ""
	if !filepath.IsAbs(pattern) {
		base = filepath.Dir(from)
	}
	for {
		paths, err := filepath.Glob(filepath.Join(r.root, base, pattern))
		if err != nil {
			return fmt.Errorf("include = %s: %w", pattern, err)
		}
		if len(paths) == 0 && base != "" && base != "/" {
			base = filepath.Dir(base)
			continue
		}
		var errs []error
		for _, path := range paths {
			errs = append(errs, r.read(strings.TrimPrefix(path, strings.TrimSuffix(r.root, "/")), into))
		}
		return errors.Join(errs...)
	}
}

// unquoted returns a value without quotes, and without the comment behind it.
func unquoted(value string) string {
	value = strings.TrimSpace(value)
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
			return value[1 : 1+end]
		}
	}
	if before, _, ok := strings.Cut(value, ";"); ok {
		value = strings.TrimSpace(before)
	}
	return value
}

// on reports that an ini value means yes.
func on(value string) bool {
	switch strings.ToLower(value) {
	case "1", "on", "yes", "true":
		return true
	}
	return false
}
