package dash

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// The size of a chart's own coordinates. The page scales it.
const (
	chartWidth   = 360.0
	chartHeight  = 130.0
	chartLeft    = 44.0 // room for the numbers of the y axis
	chartRight   = 6.0
	chartTop     = 8.0
	chartBottom  = 18.0 // room for the times
	chartMinutes = 60

	manyColumns = 3 // from here on a legend leaves out what is 0 all the time
)

// column is one line of a chart, or one part of its bars: how it is called and which value of a minute it shows.
type column struct {
	class string // of the style sheet
	name  string // of the messages
	value func(Minute) float64
}

// chart is ready to be drawn.
type chart struct {
	ID, Title, Desc string
	Unit            string
	Width, Height   float64
	Left, Right     float64 // of the plot
	Lines           []line
	Bars            []bar
	YTicks, XTicks  []tick
	Legend          []legend
	Hovers          []bar // what a pointer reads at each minute
}

type line struct{ Class, Path string }

type bar struct {
	Class      string
	X, Y, W, H string
	Text       string
}

type tick struct {
	At    string
	Label string
}

type legend struct{ Class, Name, Last string }

// plot is what all charts of one page have in common.
type plot struct {
	words words
	now   time.Time
	zone  *time.Location
}

// scale is the y axis.
type scale struct {
	most float64
	show func(float64) string
}

func (s scale) y(v float64) float64 {
	height := chartHeight - chartTop - chartBottom
	return chartHeight - chartBottom - height*min(v, s.most)/s.most
}

// x is where a time lies, the last hour being the whole width.
func (p plot) x(t time.Time) float64 {
	width := chartWidth - chartLeft - chartRight
	return chartLeft + width*(1-p.now.Sub(t).Minutes()/chartMinutes)
}

// inWindow are the minutes that the chart shows.
func (p plot) inWindow(minutes []Minute) (shown []Minute) {
	for _, m := range minutes {
		if age := p.now.Sub(m.At); age >= 0 && age <= chartMinutes*time.Minute {
			shown = append(shown, m)
		}
	}
	return shown
}

// lines draws one line for each column, of numbers.
func (p plot) lines(id string, unit func(float64) string, minutes []Minute, columns ...column) chart {
	minutes = p.inWindow(minutes)
	return p.draw(id, scale{most: nice(highest(minutes, columns, false)), show: unit}, minutes, columns)
}

// times draws one line for each column, of lengths in seconds.
func (p plot) times(id string, minutes []Minute, columns ...column) chart {
	minutes = p.inWindow(minutes)
	show := func(f float64) string { return length(p.words, Seconds(f).Duration()) }
	return p.draw(id, scale{most: niceTime(highest(minutes, columns, false)), show: show}, minutes, columns)
}

func (p plot) draw(id string, s scale, minutes []Minute, columns []column) chart {
	c := p.frame(id)
	for _, col := range columns {
		c.Lines = append(c.Lines, line{Class: col.class, Path: p.path(minutes, col.value, s)})
	}
	p.finish(&c, s, minutes, columns)
	return c
}

// stacks draws a bar for each minute, made of the columns one on the other.
func (p plot) stacks(id string, unit func(float64) string, minutes []Minute, columns ...column) chart {
	minutes = p.inWindow(minutes)
	c := p.frame(id)
	s := scale{most: nice(highest(minutes, columns, true)), show: unit}
	wide := (chartWidth - chartLeft - chartRight) / chartMinutes
	for _, m := range minutes {
		sum := 0.0
		for _, col := range columns {
			v := col.value(m)
			if v <= 0 {
				continue
			}
			top, bottom := s.y(sum+v), s.y(sum)
			c.Bars = append(c.Bars, bar{Class: col.class, X: dot(p.x(m.At)), Y: dot(top), W: dot(wide - 0.6), H: dot(bottom - top)})
			sum += v
		}
	}
	p.finish(&c, s, minutes, columns)
	return c
}

func (p plot) frame(id string) chart {
	return chart{
		ID: id, Title: p.words.t("chart." + id), Unit: p.words.t("chart." + id + ".unit"),
		Width: chartWidth, Height: chartHeight, Left: chartLeft, Right: chartWidth - chartRight,
	}
}

// finish adds the axes, the legend and the words.
func (p plot) finish(c *chart, s scale, minutes []Minute, columns []column) {
	for _, part := range []float64{0, 0.5, 1} {
		c.YTicks = append(c.YTicks, tick{At: dot(s.y(part * s.most)), Label: s.show(part * s.most)})
	}
	const quarter = 15 * time.Minute
	for at := p.now.Add(-45 * time.Minute).Truncate(quarter); !at.After(p.now); at = at.Add(quarter) {
		c.XTicks = append(c.XTicks, tick{At: dot(p.x(at)), Label: at.In(p.zone).Format("15:04")})
	}
	var desc []string
	for _, col := range columns {
		name, last, top := p.words.t(col.name), 0.0, 0.0
		for _, m := range minutes {
			last, top = col.value(m), max(top, col.value(m))
		}
		if top == 0 && len(columns) > manyColumns {
			continue // what there was none of only takes room
		}
		c.Legend = append(c.Legend, legend{Class: col.class, Name: name, Last: s.show(last)})
		desc = append(desc, p.words.t("chart.desc", name, s.show(last), s.show(top)))
	}
	c.Desc = strings.Join(desc, " ")
	p.hovers(c, s, minutes, columns)
}

// hovers lays an unseen bar over each minute, whose title a pointer shows.
func (p plot) hovers(c *chart, s scale, minutes []Minute, columns []column) {
	wide := (chartWidth - chartLeft - chartRight) / chartMinutes
	for _, m := range minutes {
		parts := []string{m.At.In(p.zone).Format("15:04")}
		for _, col := range columns {
			if v := col.value(m); v != 0 {
				parts = append(parts, p.words.t(col.name)+" "+s.show(v))
			}
		}
		c.Hovers = append(c.Hovers, bar{
			X: dot(p.x(m.At)), Y: dot(chartTop), W: dot(wide), H: dot(chartHeight - chartTop - chartBottom),
			Text: strings.Join(parts, " · "),
		})
	}
}

// path goes from minute to minute, and breaks off where some are missing.
func (p plot) path(minutes []Minute, value func(Minute) float64, s scale) string {
	var b strings.Builder
	var before time.Time
	for _, m := range minutes {
		step := "L"
		if before.IsZero() || m.At.Sub(before) > 90*time.Second {
			step = "M"
		}
		b.WriteString(step + dot(p.x(m.At)) + " " + dot(s.y(value(m))))
		before = m.At
	}
	if len(minutes) == 1 {
		b.WriteString("h1") // a point alone is not drawn
	}
	return b.String()
}

func highest(minutes []Minute, columns []column, stacked bool) (most float64) {
	for _, m := range minutes {
		sum := 0.0
		for _, col := range columns {
			v := col.value(m)
			sum += v
			most = max(most, v)
		}
		if stacked {
			most = max(most, sum)
		}
	}
	return most
}

// nice is the least of 1, 2, 5, 10, 20 … that is not below v. Values below one, which only times have, may be anything.
func nice(v float64) float64 {
	if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 1
	}
	step := math.Pow(10, math.Floor(math.Log10(v)))
	for _, times := range []float64{1, 2, 5} {
		if v <= times*step {
			return times * step
		}
	}
	return 10 * step
}

// niceTime is nice for seconds: it and its half are each said in one unit, which leaves them room beside the axis.
func niceTime(v float64) float64 {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	if v > 20*day {
		return nice(v/day) * day
	}
	for _, most := range []float64{10, 20, 60, 2 * minute, 10 * minute, 20 * minute, hour, 2 * hour, 4 * hour, 10 * hour, 20 * hour, 2 * day, 4 * day, 10 * day, 20 * day} {
		if v > 5 && v <= most {
			return most
		}
	}
	return nice(v)
}

// dot writes a coordinate.
func dot(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "0"
	}
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}
