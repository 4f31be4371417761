package mask

import (
	"regexp"
	"strings"
	"testing"
)

// hostile are what a job says again and again in order to keep those busy who look: its error above all may be long.
var hostile = []string{
	"a=", "password=", `a:"`, `\"a\":`, "1 ", "pwd:{", "a\\", "x://", "eyJ", "  ", `pwd:[\"`, "user[a]=", "a.", "pwd:array(", "user Object",
	"%5Ba%5D=", "%", "%41", "a%3D", `a:O:1:"`, "a:s:1", "object(a)#1", "\u00a01",
}

// counted is a text that counts how much of it is read.
type counted struct {
	strings.Reader
	runes int
}

func (c *counted) ReadRune() (r rune, size int, err error) {
	c.runes++
	return c.Reader.ReadRune()
}

// look is how much of text an expression reads, and what it finds.
func look(e *regexp.Regexp, text string) (runes int, found []int) {
	c := &counted{Reader: *strings.NewReader(text)}
	found = e.FindReaderSubmatchIndex(c)
	return c.runes, found
}

// Masking takes time by the length of a text alone if what the expressions read of it does: all else goes once from its beginning to its
// end. An expression that runs over the whole rest at each name reads a text of 4 KB hundreds of times.
func TestTheExpressionsReadATextAFewTimesAtMost(t *testing.T) {
	const most = 12 // names is run from each name on, the others behind it; login and webToken over it all
	for _, part := range hostile {
		text := strings.Repeat(part, 1<<12/len(part))
		read := 0
		for at := 0; at < len(text); {
			n, found := look(names, text[at:])
			if read += n; found == nil {
				break
			}
			for _, e := range []*regexp.Regexp{bracket, scheme} {
				n, _ := look(e, text[at+found[1]:])
				read += n
			}
			at += found[3]
		}
		for _, e := range []*regexp.Regexp{login, webToken} {
			for at := 0; at < len(text); {
				n, found := look(e, text[at:])
				if read += n; found == nil {
					break
				}
				at += found[1]
			}
		}
		if read > most*len(text) {
			t.Errorf("of %d bytes of %q the expressions read %d, want %d times as much at most", len(text), part, read, most)
		}
	}
}

// The figures a byte of two lengths are to be alike.
func BenchmarkHostileText(b *testing.B) {
	m := New([]string{"salary", "user.*"})
	for _, size := range []struct {
		name  string
		bytes int
	}{{"4KB", 1 << 12}, {"64KB", 1 << 16}} {
		b.Run(size.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, part := range hostile {
					m.Text(strings.Repeat(part, size.bytes/len(part)))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(hostile)*size.bytes), "ns/byte")
		})
	}
}
