package queue

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Window is a span of some days of the week, by the wall clock: it begins and ends when a clock on the wall says so, also
// on days on which that is set forward or back.
type Window struct {
	text string
	days [7]bool // on which it begins, by time.Weekday
	from int     // minutes from midnight
	to   int     // likewise; above dayMinutes when it ends on the day after
}

const dayMinutes = 24 * 60

var errWindow = errors.New(`want a span of the day such as "02:00-04:00", with days before it if not all are meant, such as "Sat,Sun 00:00-24:00" or "Mon-Fri 22:00-06:00"`)

// ParseWindow reads a window: "02:00-04:00" on every day, "22:00-06:00" over midnight, "Sat,Sun 00:00-24:00",
// "Mon-Fri 09:00-17:30". The days are those on which it begins.
func ParseWindow(text string) (Window, error) {
	w := Window{text: text}
	days, span, hasDays := strings.Cut(strings.TrimSpace(text), " ")
	if !hasDays {
		days, span = "", days
	}
	from, to, ok := strings.Cut(strings.TrimSpace(span), "-")
	var errs [3]error
	w.from, errs[0] = minuteOf(from)
	w.to, errs[1] = minuteOf(to)
	w.days, errs[2] = daysOf(days)
	switch {
	case !ok || errors.Join(errs[:]...) != nil || w.from == dayMinutes:
		return Window{}, errWindow
	case w.from == w.to:
		return Window{}, errors.New(`want an end after the beginning; a whole day is "00:00-24:00"`)
	case w.to < w.from:
		w.to += dayMinutes
	}
	return w, nil
}

// String returns the window as it was written.
func (w Window) String() string { return w.text }

// minuteOf reads "02:30" as minutes from midnight. The end of the day is "24:00".
func minuteOf(text string) (int, error) {
	hours, minutes, ok := strings.Cut(text, ":")
	h, err := strconv.ParseUint(hours, 10, 8)
	m, err2 := strconv.ParseUint(minutes, 10, 8)
	if !ok || err != nil || err2 != nil || len(minutes) != 2 || m > 59 || h*60+m > dayMinutes {
		return 0, errWindow
	}
	return int(h*60 + m), nil
}

// dayNames are the days as a window spells them, by time.Weekday.
var dayNames = [7]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// daysOf reads "Sat,Sun" or "Mon-Fri"; nothing is every day.
func daysOf(text string) (days [7]bool, err error) {
	if text == "" {
		return [7]bool{true, true, true, true, true, true, true}, nil
	}
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		first, last, several := strings.Cut(part, "-")
		if !several {
			last = first
		}
		from, to := slices.Index(dayNames[:], first), slices.Index(dayNames[:], last)
		if from < 0 || to < 0 {
			return days, errWindow
		}
		for day := from; ; day = (day + 1) % 7 {
			days[day] = true
			if day == to {
				break
			}
		}
	}
	return days, nil
}

// has reports whether the window is on when a wall clock shows t.
func (w Window) has(t time.Time) bool {
	minute, today := t.Hour()*60+t.Minute(), int(t.Weekday())
	return w.days[today] && w.from <= minute && minute < w.to ||
		w.days[(today+6)%7] && minute+dayMinutes < w.to
}

// windowAt returns the first of windows that is on at now.
func windowAt(windows []Window, now time.Time, loc *time.Location) (Window, bool) {
	t := now.In(loc)
	i := slices.IndexFunc(windows, func(w Window) bool { return w.has(t) })
	if i < 0 {
		return Window{}, false
	}
	return windows[i], true
}

// windowsEnd returns when none of windows is on any more that are on at now; zero if that is never. It looks at each
// minute to come: what the wall clock shows then depends on the zone's rules.
func windowsEnd(windows []Window, now time.Time, loc *time.Location) time.Time {
	const most = 8 * dayMinutes // a week, and what a clock that is set back adds
	t := now.Truncate(time.Minute)
	for range most {
		t = t.Add(time.Minute)
		if _, on := windowAt(windows, t, loc); !on {
			return t
		}
	}
	return time.Time{}
}

// validateWindows reports windows that leave no time for the jobs.
func validateWindows(windows []Window) error {
	if len(windows) == 0 {
		return nil
	}
	monday := time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)
	if windowsEnd(windows, monday, time.UTC).IsZero() {
		return fmt.Errorf("pause_windows = %q: want some time of the week that they leave", windows)
	}
	return nil
}
