package queue

import (
	"testing"
	"time"
)

func TestWindowsAreOnWhenTheClockOnTheWallSaysSo(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		window, at string // at: RFC 3339
		on         bool
		until      string // "": not on
	}{
		"before":                         {"02:00-04:00", "2026-06-03T01:59:59+02:00", false, ""},
		"its first moment":               {"02:00-04:00", "2026-06-03T02:00:00+02:00", true, "2026-06-03T04:00:00+02:00"},
		"its last":                       {"02:00-04:00", "2026-06-03T03:59:59+02:00", true, "2026-06-03T04:00:00+02:00"},
		"its end":                        {"02:00-04:00", "2026-06-03T04:00:00+02:00", false, ""},
		"over midnight, before":          {"22:00-06:00", "2026-06-03T23:30:00+02:00", true, "2026-06-04T06:00:00+02:00"},
		"over midnight, after":           {"22:00-06:00", "2026-06-04T05:59:00+02:00", true, "2026-06-04T06:00:00+02:00"},
		"over midnight, by day":          {"22:00-06:00", "2026-06-04T12:00:00+02:00", false, ""},
		"Friday's goes into Saturday":    {"Fri 22:00-06:00", "2026-06-06T05:00:00+02:00", true, "2026-06-06T06:00:00+02:00"},
		"there is none of Saturday's":    {"Fri 22:00-06:00", "2026-06-06T23:00:00+02:00", false, ""},
		"nor one before Friday":          {"Fri 22:00-06:00", "2026-06-05T05:00:00+02:00", false, ""},
		"a weekend ends with it":         {"Sat,Sun 00:00-24:00", "2026-06-06T10:00:00+02:00", true, "2026-06-08T00:00:00+02:00"},
		"days that go over the week":     {"Sat-Mon 09:00-10:00", "2026-06-07T09:30:00+02:00", true, "2026-06-07T10:00:00+02:00"},
		"Tuesday is not of them":         {"Sat-Mon 09:00-10:00", "2026-06-09T09:30:00+02:00", false, ""},
		"clocks set forward: one hour":   {"02:00-04:00", "2026-03-29T03:00:00+02:00", true, "2026-03-29T04:00:00+02:00"},
		"clocks set forward: before":     {"02:00-04:00", "2026-03-29T01:59:00+01:00", false, ""},
		"clocks set back: the first 02":  {"02:00-04:00", "2026-10-25T02:00:00+02:00", true, "2026-10-25T04:00:00+01:00"},
		"clocks set back: the second 02": {"02:00-03:00", "2026-10-25T02:30:00+01:00", true, "2026-10-25T03:00:00+01:00"},
	} {
		w, err := ParseWindow(tt.window)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		if _, on := windowAt([]Window{w}, at, berlin); on != tt.on {
			t.Errorf("%s: on %t at %s, want %t", name, on, tt.at, tt.on)
		}
		if !tt.on {
			continue
		}
		if until := windowsEnd([]Window{w}, at, berlin); until.In(berlin).Format(time.RFC3339) != tt.until {
			t.Errorf("%s: until %s, want %s", name, until.In(berlin).Format(time.RFC3339), tt.until)
		}
	}
}

func TestWindowsThatMeetAreOne(t *testing.T) {
	t.Parallel()
	var windows []Window
	for _, text := range []string{"02:00-04:00", "04:00-05:30"} {
		w, err := ParseWindow(text)
		if err != nil {
			t.Fatal(err)
		}
		windows = append(windows, w)
	}
	at := time.Date(2026, 6, 3, 2, 10, 5, 0, time.UTC)
	if until := windowsEnd(windows, at, time.UTC); !until.Equal(time.Date(2026, 6, 3, 5, 30, 0, 0, time.UTC)) {
		t.Errorf("until %s", until)
	}
}

func TestWindowsThatNobodyMeansAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "02:00", "02:00-", "2-4", "02:00-25:00", "02:60-03:00", "24:00-02:00", "02:00-02:00", "Mo 02:00-03:00", "Mon,, 02:00-03:00", "02:00-03:00 Mon", "-1:00-02:00", "02:0-03:00"} {
		if w, err := ParseWindow(text); err == nil {
			t.Errorf("%q is %+v", text, w)
		}
	}
}
