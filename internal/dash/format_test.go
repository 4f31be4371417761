package dash

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestLengthsAreToldInTheirTwoLargestUnits(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		0:                             {"0 s", "0 秒"},
		1300 * time.Microsecond:       {"1.3 ms", "1.3 毫秒"},
		42 * time.Millisecond:         {"42 ms", "42 毫秒"},
		4200 * time.Millisecond:       {"4.2 s", "4.2 秒"},
		59900 * time.Millisecond:      {"59 s", "59 秒"},
		time.Minute:                   {"1 min", "1 分"},
		250 * time.Second:             {"4 min 10 s", "4 分 10 秒"},
		2*time.Hour + 5*time.Minute:   {"2 h 5 min", "2 小时 5 分"},
		76*time.Hour + 59*time.Minute: {"3 d 4 h", "3 天 4 小时"},
		-90 * time.Second:             {"1 min 30 s", "1 分 30 秒"},
	} {
		if en, zh := length(english, d), length(chinese, d); en != want[0] || zh != want[1] {
			t.Errorf("%s is %q and %q, want %q", d, en, zh, want)
		}
	}
}

func TestTimesAreToldAbsoluteAndRelativeInTheirZone(t *testing.T) {
	shanghai := time.FixedZone("CST", 8*3600)
	now := time.Date(2026, 11, 30, 23, 30, 0, 0, time.UTC) // the first of December in Shanghai
	for at, want := range map[time.Time][2]string{
		now.Add(-20 * time.Second):       {"07:29:40", "20 s ago"},
		now.Add(90 * time.Second):        {"07:31:30", "in 1 min 30 s"},
		now.Add(-8 * time.Hour):          {"11-30 23:30:00", "8 h ago"},
		now.Add(-400 * 24 * time.Hour):   {"2025-10-27 07:30:00", "400 d ago"},
		now.Add(-300 * time.Millisecond): {"07:29:59", "now"},
	} {
		if got := when(english, at, now, shanghai); got.Clock != want[0] || got.Relative != want[1] {
			t.Errorf("%s is %q, %q, want %q", at, got.Clock, got.Relative, want)
		}
	}
}

func TestNumbersAreToldSoThatTheyAreNotMistaken(t *testing.T) {
	for got, want := range map[string]string{
		number(1234567): "1,234,567", number(-1000): "-1,000", number(999): "999", rate(3.06): "3.1", rate(2): "2", rate(0): "0", rate(1234.4): "1,234",
		size(1023): "1023 B", size(1536): "1.5 KB", size(3 << 20): "3.0 MB", share(999999, 1000000): "> 99.9 %", share(1, 1000000): "< 0.1 %",
		share(5, 5): "100 %", share(0, 5): "0 %", share(0, 0): "–", short(1200): "1.2k", short(0): "0", short(5e6): "5M",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWhatCannotBeSeenIsShownByItsNumber(t *testing.T) {
	for s, want := range map[string]string{
		"plain 好\n\tx":       "plain 好\n\tx",
		"a\u202eb\x00\u200b": "a⟨U+202E⟩b⟨U+0000⟩⟨U+200B⟩",
		"\xff":               "\ufffd",
		"\U000e0041":         "⟨U+E0041⟩",
	} {
		if got := plain(s); got != want {
			t.Errorf("plain(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestATextIsCutBetweenCharacters(t *testing.T) {
	if got, more := cut("好好好", 2); got != "好好" || !more {
		t.Errorf("got %q, %t", got, more)
	}
	if got, more := cut("好好", 2); got != "好好" || more {
		t.Errorf("got %q, %t", got, more)
	}
}

func TestAxesEndAtARoundNumber(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, 0.3: 0.5, 1: 1, 7: 10, 101: 200, 2001: 5000, math.NaN(): 1, math.Inf(1): 1} {
		if got := nice(v); math.Abs(got-want) > 1e-9 && !math.IsNaN(v) || math.IsNaN(got) {
			t.Errorf("nice(%v) = %v, want %v", v, got, want)
		}
	}
}

// What the left of a chart has room for: eight characters, a Chinese one being two.
func TestAxesOfTimesHaveLabelsThatFit(t *testing.T) {
	for _, w := range []words{english, chinese} {
		for v := 0.0006; v < 100*24*3600; v *= 1.07 {
			p := plot{w, time.Date(2026, 11, 30, 8, 16, 0, 0, time.UTC), time.UTC}
			c := p.times("oldest", []Minute{{At: p.now.Add(-time.Minute), OldestDue: Seconds(v)}}, column{"c-due", "chart.oldest.line", func(m Minute) float64 { return float64(m.OldestDue) }})
			for _, tick := range c.YTicks {
				wide := 0
				for _, r := range tick.Label {
					if wide++; r > 0x2e80 {
						wide++
					}
				}
				if wide > 8 {
					t.Errorf("%s: an axis up to %v s has %q", w, v, tick.Label)
				}
			}
			if most := niceTime(v); most < v || most > 5*v {
				t.Errorf("an axis for %v s ends at %v s", v, most)
			}
		}
	}
}

func TestAChartBreaksOffWhereMinutesAreMissingAndLeavesOldOnesOut(t *testing.T) {
	now := time.Date(2026, 11, 30, 8, 16, 0, 0, time.UTC)
	at := func(ago int) Minute { return Minute{At: now.Add(-time.Duration(ago) * time.Minute), In: 5} }
	p := plot{english, now, time.UTC}
	c := p.lines("flow", short, []Minute{at(300), at(30), at(29), at(10)}, column{"c-in", "chart.in", func(m Minute) float64 { return float64(m.In) }})
	if got := strings.Count(c.Lines[0].Path, "M"); got != 2 {
		t.Errorf("%d lines in %s, want 2", got, c.Lines[0].Path)
	}
	if len(c.Hovers) != 3 || !strings.Contains(c.Desc, "in: now 5, at most 5") {
		t.Errorf("%d minutes, told as %q", len(c.Hovers), c.Desc)
	}
}

func TestSharesFillTheirBarAndShowTheLeastOfThem(t *testing.T) {
	s := newShares(english, Outcomes{"done": 1_000_000, "crashed": 1})
	if len(s.Parts) != 2 || s.Parts[1].Class != "o-crashed" || s.Done != "> 99.9 %" {
		t.Errorf("got %+v", s)
	}
	if newShares(english, nil).Title != "No run in the last hour" {
		t.Error("no runs are not told")
	}
}

func TestIDsAreGroupedByWhatTheyBeginWith(t *testing.T) {
	for id, want := range map[string]string{
		"ord_web_20261130_1": "ord_web", "ord_app_x7": "ord_app", "ord_web": "ord", "550e8400-e29b": "", "": "", "a_b_c_d": "a_b_c",
	} {
		if got := groupOf(id); got != want {
			t.Errorf("%q is of %q, want %q", id, got, want)
		}
	}
}
