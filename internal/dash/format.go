package dash

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// number writes n with its thousands apart.
func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// rate writes a number of jobs a minute: a decimal only where that says something.
func rate(f float64) string {
	if f != 0 && math.Abs(f) < 10 {
		return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
	}
	return number(int64(math.Round(f)))
}

// short writes f for an axis: 1200 is 1.2k.
func short(f float64) string {
	for _, unit := range []struct {
		size float64
		sign string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(f) >= unit.size {
			return strconv.FormatFloat(f/unit.size, 'g', 3, 64) + unit.sign
		}
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + " KB"
	case n < 1<<30:
		return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MB"
	}
	return strconv.FormatFloat(float64(n)/(1<<30), 'f', 1, 64) + " GB"
}

// share writes part/whole in percent. What is not all never reads 100 %, and what is something never 0 %.
func share(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	percent := 100 * float64(part) / float64(whole)
	switch {
	case part == whole:
		return "100 %"
	case part == 0:
		return "0 %"
	case percent > 99.9:
		return "> 99.9 %"
	case percent < 0.1:
		return "< 0.1 %"
	}
	return strconv.FormatFloat(percent, 'f', 1, 64) + " %"
}

// length writes d in the two largest of its units, with the names of those from w.
func length(w words, d time.Duration) string {
	if d < 0 {
		d = -d
	}
	unit := func(n int64, name string) string { return strconv.FormatInt(n, 10) + " " + w.t("unit."+name) }
	two := func(big int64, bigName string, small int64, smallName string) string {
		if small == 0 {
			return unit(big, bigName)
		}
		return unit(big, bigName) + " " + unit(small, smallName)
	}
	switch {
	case d == 0:
		return unit(0, "s")
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'g', 2, 64) + " " + w.t("unit.ms")
	case d < time.Second:
		return unit(d.Milliseconds(), "ms")
	case d < 10*time.Second:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " " + w.t("unit.s")
	case d < time.Minute:
		return unit(int64(d.Seconds()), "s")
	case d < time.Hour:
		return two(int64(d/time.Minute), "min", int64(d%time.Minute/time.Second), "s")
	case d < 24*time.Hour:
		return two(int64(d/time.Hour), "h", int64(d%time.Hour/time.Minute), "min")
	}
	return two(int64(d/(24*time.Hour)), "d", int64(d%(24*time.Hour)/time.Hour), "h")
}

// moment is a time as pages show it: absolute, relative, and for machines.
type moment struct {
	ISO, Full, Clock, Relative string
}

// when shows t as it is at now, in zone.
func when(w words, t, now time.Time, zone *time.Location) moment {
	t, now = t.In(zone), now.In(zone)
	m := moment{ISO: t.Format(time.RFC3339), Full: t.Format("2006-01-02 15:04:05 -07:00")}
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		m.Clock = t.Format("15:04:05")
	case t.Year() == now.Year():
		m.Clock = t.Format("01-02 15:04:05")
	default:
		m.Clock = t.Format("2006-01-02 15:04:05")
	}
	switch d := now.Sub(t).Truncate(time.Second); {
	case d == 0:
		m.Relative = w.t("time.now")
	case d > 0:
		m.Relative = w.t("time.ago", length(w, d))
	default:
		m.Relative = w.t("time.in", length(w, d))
	}
	return m
}

// cut returns at most n characters of s, and whether that is not all of it.
func cut(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	count := 0
	for i := range s {
		if count == n {
			return s[:i], true
		}
		count++
	}
	return s, false
}

// plain makes a text harmless to read: what would turn the direction of the text around it, or cannot be seen, is shown
// by its number. Line ends and tabs stay.
func plain(s string) string {
	if strings.IndexFunc(s, unseen) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unseen(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unseen(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		return true
	}
	return r == '\u2028' || r == '\u2029'
}
