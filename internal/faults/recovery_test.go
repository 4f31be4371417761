package faults

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// backWithin is what is promised: after the end of every fault the jobs run again within so long. The short form
// gives a busy machine more; there the figures are only reported.
const (
	backWithin      = 5 * time.Second
	backWithinShort = 2 * time.Minute
)

// awaitBack waits until each sidecar has started a job after the fault ended, and returns how long the slower one took.
func (s *shop) awaitBack(ended time.Time, within time.Duration) (time.Duration, error) {
	back := time.Duration(0)
	for _, p := range s.sidecars {
		first, err := s.awaitStart(p.name, ended, within)
		if err != nil {
			return 0, err
		}
		back = max(back, first.Sub(ended))
	}
	return back, nil
}

func (s *shop) awaitStart(who string, after time.Time, within time.Duration) (first time.Time, err error) {
	met := eventually(within, func() (ok bool) {
		s.ledger.read()
		first, ok = s.ledger.firstStart(who, after)
		return ok
	})
	if !met {
		err = fmt.Errorf("sidecar %s starts no job within %s of the end of the fault", who, within)
	}
	return first, err
}

// usage is what a shop holds while nothing runs: what must be as before once a fault is over.
type usage struct {
	Goroutines  [2]int `json:"goroutines"`  // of each sidecar
	Descriptors [2]int `json:"descriptors"` // of each sidecar
	Clients     int    `json:"clients"`     // connections that Redis has
}

// slack is how much of each may be more than before: pools grow by use, to ten connections a core, and a scrape is a
// connection, too; what a fault has opened beyond that is closed when it has idled for 20 s. A sidecar keeps one goroutine
// for each job that it ever had claimed at a time, so the claims ahead of its workers may come on top. A leak grows with
// the number of strikes.
const (
	slack          = 20
	goroutineSlack = 128
)

func (u usage) exceeds(before usage) bool {
	for i := range u.Goroutines {
		if u.Goroutines[i] > before.Goroutines[i]+goroutineSlack || u.Descriptors[i] > before.Descriptors[i]+slack {
			return true
		}
	}
	return u.Clients > before.Clients+slack
}

// usage is an error while a resident worker is there, which would be counted, too.
func (s *shop) usage() (u usage, err error) {
	for i, p := range s.sidecars {
		values, err := p.metrics()
		if err != nil {
			return u, err
		}
		for name, n := range values {
			if strings.HasPrefix(name, "sidecar_workers{") && n > 0 {
				return u, fmt.Errorf("sidecar %s has %s %v", p.name, name, n)
			}
		}
		u.Goroutines[i] = int(values["go_goroutines"])
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
		if err != nil {
			return u, err
		}
		u.Descriptors[i] = len(fds)
	}
	info, err := s.rdb.InfoMap(context.Background(), "clients").Result()
	if err != nil {
		return u, err
	}
	u.Clients, err = strconv.Atoi(info["Clients"]["connected_clients"])
	return u, err
}

// idleUsage returns what the shop holds once its resident workers have left.
func (s *shop) idleUsage() (now usage, err error) {
	eventually(readyWithin, func() bool {
		now, err = s.usage()
		return err == nil
	})
	return now, err
}

// awaitUsage waits until the shop holds no more than before, and returns what it holds.
func (s *shop) awaitUsage(before usage) (now usage, err error) {
	met := eventually(readyWithin, func() bool {
		now, err = s.usage()
		return err == nil && !now.exceeds(before)
	})
	if !met && err == nil {
		err = fmt.Errorf("after the faults the shop holds %+v, before them %+v", now, before)
	}
	return now, err
}

// awaitDrained waits until nothing is left to do.
func (s *shop) awaitDrained(ctx context.Context, within time.Duration) (err error) {
	var depth int64
	met := eventually(within, func() bool {
		depth, err = s.depths(ctx)
		return err == nil && depth == 0
	})
	if !met && err == nil {
		err = fmt.Errorf("after %s there are still %d jobs in the keys", within, depth)
	}
	return err
}

// eventually polls until met reports true, and returns false when that takes too long. It polls ever more seldom: what is
// waited for for long takes no time from those who are to do it.
func eventually(within time.Duration, met func() bool) bool {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for pause := 5 * time.Millisecond; !met(); pause = min(pause*5/4, 50*time.Millisecond) {
		select {
		case <-deadline.C:
			return met()
		case <-time.After(pause):
		}
	}
	return true
}
