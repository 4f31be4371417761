package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// document is a parsed file, with what was found wrong in it so far.
type document struct {
	path     string
	data     []byte
	meta     toml.MetaData
	root     map[string]toml.Primitive
	faults   []remark
	warnings []remark
}

// remark is one line to the user. Line 0 is the file as a whole.
type remark struct {
	line int
	text string
}

// parseDocument reads the syntax only. Its error is the first mistake, with line and column.
func parseDocument(path string, data []byte) (*document, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // else every position is off by the BOM
	d := &document{path: path, data: data}
	meta, err := toml.Decode(string(data), &d.root)
	if err != nil {
		return nil, syntaxError(path, data, err)
	}
	d.meta = meta
	return d, nil
}

// syntaxError words the parser's error: it repeats what it could not read, which may be a piece of a password.
func syntaxError(path string, data []byte, err error) error {
	var pe toml.ParseError
	if !errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", path, err)
	}
	text := pe.Message
	// The parser counts a line too few where a text ends in CR LF instead of a quote, and Start is where a text begins.
	line := max(pe.Position.Line, lineAt(data, pe.Position.Start))
	switch {
	case secretive(pe.LastKey) || secretive(lineOf(data, line)):
		text = "this is not a TOML value (it is not shown, it may hold a password); want it in quotes, 'single' ones if it holds \\ or \""
	case strings.Contains(text, "escape"):
		text += `; in "…" write each \ twice, or use '…'`
	}
	return fmt.Errorf("%s:%d:%d: %s", path, line, pe.Position.Col, text)
}

// lineAt returns the line that the byte at offset is in.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
}

// secretive reports that s, a key or a line of the file, may have to do with a password.
func secretive(s string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc([]string{"pass", "url", "addrs", "secret", "auth", "://"}, func(sign string) bool {
		return strings.Contains(s, sign)
	})
}

func lineOf(data []byte, line int) string {
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	return string(lines[line-1])
}

// errHere is what a probe answers to every value.
var errHere = errors.New("here")

// probe refuses every value. The decoder keeps the places of keys to itself, but writes them on errors.
type probe struct{}

// UnmarshalTOML refuses the value.
func (probe) UnmarshalTOML(any) error { return errHere }

// line returns the line where the value of p begins. A table nobody wrote a header for begins with its first key.
func (d *document) line(p toml.Primitive) int {
	var refuse probe
	var pe toml.ParseError
	if errors.As(d.meta.PrimitiveDecode(p, &refuse), &pe) && pe.Position.Line > 0 {
		// By its offset, since Position.Line of a text over several lines is that of its end.
		return lineAt(d.data, pe.Position.Start)
	}
	first := 0
	for _, child := range d.children(p) {
		if line := d.line(child); first == 0 || line < first {
			first = line
		}
	}
	return first
}

// value returns what p holds, as the decoder types it.
func (d *document) value(p toml.Primitive) any {
	var v any
	_ = d.meta.PrimitiveDecode(p, &v) // an empty interface takes everything
	return v
}

// children returns the keys of the table p, nil if p is none.
func (d *document) children(p toml.Primitive) map[string]toml.Primitive {
	if _, ok := d.value(p).(map[string]any); !ok {
		return nil
	}
	var m map[string]toml.Primitive
	_ = d.meta.PrimitiveDecode(p, &m) // it is a table
	return m
}

// fault records what cannot work.
func (d *document) fault(line int, format string, args ...any) {
	d.faults = append(d.faults, remark{line, fmt.Sprintf(format, args...)})
}

// warn records what works but was hardly meant.
func (d *document) warn(line int, format string, args ...any) {
	d.warnings = append(d.warnings, remark{line, fmt.Sprintf(format, args...)})
}

// err returns all faults as one error, nil if there are none.
func (d *document) err() error {
	var errs []error
	for _, text := range d.texts(d.faults) {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

func (d *document) warningTexts() []string { return d.texts(d.warnings) }

// texts returns the remarks sorted by line, each once: topics share what [defaults] says.
func (d *document) texts(remarks []remark) []string {
	slices.SortStableFunc(remarks, func(a, b remark) int { return a.line - b.line })
	var texts []string
	for _, r := range remarks {
		text := fmt.Sprintf("%s:%d: %s", d.path, r.line, r.text)
		if r.line == 0 {
			text = d.path + ": " + r.text
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}
