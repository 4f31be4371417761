// Package proc reads what Linux tells of other processes.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of start times: USER_HZ, 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// Stat is what /proc/<pid>/stat says of a process, as far as it matters here.
type Stat struct {
	Parent int
	Ended  bool    // a zombie: it runs no more, and its parent has not noticed yet
	start  float64 // ticks since boot
}

// Read returns the Stat of pid. The error says that nobody has the pid, or that /proc hides it.
func Read(pid int) (Stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Stat{}, err
	}
	// "pid (name) state parent …", and the name may hold blanks and brackets: count from its end.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const parent, startTime = 4 - 3, 22 - 3 // numbers of the whole line, the first here being 3
	if len(fields) <= startTime {
		return Stat{}, fmt.Errorf("read the stat of pid %d: %d fields behind the name", pid, len(fields))
	}
	s := Stat{Ended: strings.Contains("ZXx", fields[0])}
	var parentErr, startErr error
	s.Parent, parentErr = strconv.Atoi(fields[parent])
	s.start, startErr = strconv.ParseFloat(fields[startTime], 64)
	return s, errors.Join(parentErr, startErr)
}

// Same reports that s and other, both of one pid, tell of one process, and not of one and its successor.
func (s Stat) Same(other Stat) bool { return s.start == other.start }

// Age returns for how long the process has been running. It compares two readings of the kernel's own clock, so
// that a step of the wall clock does not matter.
func (s Stat) Age() (time.Duration, error) {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0, err
	}
	up, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(up, 64)
	return time.Duration((seconds - s.start/ticksPerSecond) * float64(time.Second)), err
}
