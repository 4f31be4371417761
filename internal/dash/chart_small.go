package dash

import (
	"strings"
	"time"
)

// The size of the small charts in tables.
const (
	sparkWidth  = 96.0
	sparkHeight = 22.0
	shareWidth  = 96.0
)

// spark is a chart as small as a word: what came in as a line, what went out as an area.
type spark struct {
	Title    string
	In       string
	Out      string
	Area     string
	Width    float64
	Height   float64
	Baseline string
}

// newSpark draws the last hour of minutes.
func newSpark(w words, now time.Time, minutes []Minute) spark {
	s := spark{Width: sparkWidth, Height: sparkHeight, Baseline: dot(sparkHeight - 1)}
	most := 1.0
	shown := plot{now: now}.inWindow(minutes)
	for _, m := range shown {
		most = max(most, float64(m.In), float64(m.Out))
	}
	if len(shown) == 0 {
		s.Title = w.t("spark.none")
		return s
	}
	s.Title = w.t("spark.title", rate(most))
	x := func(m Minute) float64 { return sparkWidth * (1 - now.Sub(m.At).Minutes()/chartMinutes) }
	y := func(n int64) float64 { return sparkHeight - 1 - (sparkHeight-3)*float64(n)/most }
	var in, out strings.Builder
	for i, m := range shown {
		step := "L"
		if i == 0 {
			step = "M"
		}
		in.WriteString(step + dot(x(m)) + " " + dot(y(m.In)))
		out.WriteString(step + dot(x(m)) + " " + dot(y(m.Out)))
	}
	s.In, s.Out = in.String(), out.String()
	s.Area = s.Out + "L" + dot(x(shown[len(shown)-1])) + " " + s.Baseline + "L" + dot(x(shown[0])) + " " + s.Baseline + "Z"
	return s
}

// shares is a bar made of the outcomes' shares.
type shares struct {
	Title string
	Parts []bar
	Width float64
	Total int64
	Done  string // in percent
}

// newShares draws o. What there was at all is never thinner than can be seen.
func newShares(w words, o Outcomes) shares {
	s := shares{Width: shareWidth, Total: o.Total(), Done: share(o["done"], o.Total())}
	if s.Total == 0 {
		s.Title = w.t("shares.none")
		return s
	}
	const least = 2.0
	var texts []string
	var widths []float64
	sum := 0.0
	for _, name := range OutcomeNames {
		wide := 0.0
		if o[name] > 0 {
			wide = max(least, shareWidth*float64(o[name])/float64(s.Total))
			texts = append(texts, w.t("outcome."+name)+" "+number(o[name])+" ("+share(o[name], s.Total)+")")
		}
		widths = append(widths, wide)
		sum += wide
	}
	x := 0.0
	for i, name := range OutcomeNames {
		if wide := widths[i] * shareWidth / sum; wide > 0 {
			s.Parts = append(s.Parts, bar{Class: "o-" + name, X: dot(x), W: dot(wide)})
			x += wide
		}
	}
	s.Title = strings.Join(texts, ", ")
	return s
}

// meter is a bar that is partly full.
type meter struct {
	Title string
	Full  string
	Width float64
	Class string
}

func newMeter(title string, used, most int64) meter {
	m := meter{Title: title, Width: shareWidth, Full: "0", Class: "ok"}
	if most <= 0 {
		return m
	}
	part := min(1, float64(used)/float64(most))
	m.Full = dot(shareWidth * part)
	if part >= 0.9 {
		m.Class = "warn"
	}
	return m
}
