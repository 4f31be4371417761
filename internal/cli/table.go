package cli

import (
	"io"
	"strings"
)

// field is one cell of a table.
type field struct {
	text  string
	style style
}

// table prints rows of fields in columns as wide as their widest field. The first row are the headings.
type table struct {
	rows  [][]field
	width int // lines are cut to so many columns; 0 leaves them whole
}

// gap is what stands between two columns.
const gap = 2

func (t *table) heads(names ...string) {
	row := make([]field, len(names))
	for i, name := range names {
		row[i] = field{name, heading}
	}
	t.rows = append(t.rows, row)
}

func (t *table) row(fields ...field) {
	for i, f := range fields {
		fields[i].text = string(escaped([]byte(f.text))) // as it will be shown: that is as wide as it is
	}
	t.rows = append(t.rows, fields)
}

// print writes the table to w, at most so many lines where that is above 0.
func (t *table) print(w io.Writer, lines int) {
	widths := t.widths()
	for n, row := range t.rows {
		if lines > 0 && n == lines {
			return
		}
		left := t.width
		for i, f := range row {
			text := f.text
			if i < len(row)-1 {
				text += strings.Repeat(" ", widths[i]+gap-columns(f.text))
			}
			if t.width > 0 {
				text = first(text, left)
				left -= columns(text)
			}
			paint(w, f.style, text)
		}
		_, _ = io.WriteString(w, "\n")
	}
}

// widths returns how wide each column is. A row's last field may be as long as it likes.
func (t *table) widths() (widths []int) {
	for _, row := range t.rows {
		for i, f := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 {
				widths[i] = max(widths[i], columns(f.text))
			}
		}
	}
	return widths
}
