package cli

import (
	"unicode"

	"sidecar/internal/plural"
)

// wide are the characters that terminals give two columns: Chinese, Japanese and Korean ones, their full-width forms and punctuation, and pictures.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1},
		{Lo: 0x2e80, Hi: 0x303e, Stride: 1},
		{Lo: 0x3041, Hi: 0x4dbf, Stride: 1},
		{Lo: 0x4e00, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xa960, Hi: 0xa97f, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1},
		{Lo: 0xfe10, Hi: 0xfe19, Stride: 1},
		{Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff01, Hi: 0xff60, Stride: 1},
		{Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1f300, Hi: 0x1f64f, Stride: 1}, {Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1}, {Lo: 0x1f900, Hi: 0x1f9ff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
	},
}

// columns is how many columns of a terminal text takes.
func columns(text string) (n int) {
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r): // over the one before
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// first returns so much of text as n columns hold.
func first(text string, n int) string {
	for i, r := range text {
		if n -= columnsOf(r); n < 0 {
			return text[:i]
		}
	}
	return text
}

// listedMost is how many names a line lists.
const listedMost = 20

// listed are the names on a line; of many the first.
func listed(names []string) (line string) {
	for i, name := range names {
		switch {
		case i == listedMost:
			return line + " and " + plural.Of(len(names)-i, "other", "others")
		case i > 0:
			line += ", "
		}
		line += name
	}
	return line
}
