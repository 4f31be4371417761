package testenv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ChildrenOf returns the pids of a process's children.
func ChildrenOf(pid int) []int {
	var pids []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		_, rest, ok := bytes.Cut(text, []byte(") "))
		fields := strings.Fields(string(rest))
		if err != nil || !ok || len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ticks is the unit of /proc's times: USER_HZ, 100 on every Linux that Go runs on.
const ticks = 100

// CPU returns the processor time that a process has used, without its children's.
func CPU(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte(") ")) // the second field may hold anything; the third comes first here
	fields := strings.Fields(string(rest))
	used := 0
	for _, field := range []int{14 - 3, 15 - 3} { // utime, stime
		n, err := strconv.Atoi(fields[field])
		if err != nil {
			tb.Fatal(err)
		}
		used += n
	}
	return time.Duration(used) * time.Second / ticks
}
