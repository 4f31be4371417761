package faults

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	soakRate  = 500              // jobs a second
	soakEvery = 10 * time.Second // a fault
	soakShort = 10 * time.Second // where FAULTS_SOAK says nothing
)

// sample is what the sidecar that no fault ends holds at a moment between two faults.
type sample struct {
	Second      int     `json:"second"`
	RSS         float64 `json:"rss_mb"`
	Heap        float64 `json:"heap_mb"`
	Goroutines  int     `json:"goroutines"`
	Descriptors int     `json:"descriptors"`
}

// A day in miniature: FAULTS_SOAK=20m by hand, some seconds elsewhere. Sidecar a is spared by the faults that end a
// sidecar, so that what it leaked would be seen.
func TestASoakLeavesMemoryFlat(t *testing.T) {
	length := soakShort
	if text := os.Getenv("FAULTS_SOAK"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("FAULTS_SOAK=%s: %v", text, err)
		}
	}
	begin, k := time.Now(), mixture(kinds())
	o := outcome{Kind: "soak", About: k.about}
	s := newShop(t, k, theSeed(t))
	s.warmUp(size{warm: 600, quick: 4000})
	s.spared = s.sidecars[0]
	s.jobs.rate, s.jobs.backlog = soakRate, 0
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.jobs.run(ctx) })
	every := min(soakEvery, length/5)
	var samples []sample
	for time.Since(begin) < length {
		at := time.Now()
		back, err := s.struck(ctx, k, size{})
		if err != nil {
			t.Errorf("strike %d: %v", o.Strikes+1, err)
			break
		}
		o.Strikes++
		o.BackMS = append(o.BackMS, back.Milliseconds())
		linger(ctx, every-time.Since(at))
		samples = append(samples, s.sample(begin))
	}
	stop()
	wg.Wait()
	if err := s.awaitDrained(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	s.stopAll()
	o.account = settleAccounts(s.evidence(k))
	for _, fault := range o.Faults {
		t.Error(fault)
	}
	o.Seconds = time.Since(begin).Seconds()
	t.Log(o.line())
	wantFlat(t, samples)
	newReport(t).part("soak", samples, soakTable(o, samples))
}

func (s *shop) sample(begin time.Time) sample {
	s.t.Helper()
	p := s.spared
	values, err := p.metrics()
	if err != nil {
		s.t.Fatal(err)
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return sample{
		Second: int(time.Since(begin).Seconds()), RSS: rss(s.t, p.cmd.Process.Pid), Heap: values["go_memstats_heap_alloc_bytes"] / (1 << 20),
		Goroutines: int(values["go_goroutines"]), Descriptors: len(fds),
	}
}

// rss is the resident memory of a process in MB.
func rss(t testing.TB, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return float64(kb) / 1024
}

// wantFlat compares the second quarter with the last: by then all pools have grown as far as they do.
func wantFlat(t testing.TB, samples []sample) {
	t.Helper()
	n := len(samples)
	if n < 8 {
		return // too short to tell
	}
	early, late := samples[n/4:n/2], samples[3*n/4:]
	for name, of := range map[string]func(sample) float64{
		"RSS in MB":   func(s sample) float64 { return s.RSS },
		"goroutines":  func(s sample) float64 { return float64(s.Goroutines) },
		"descriptors": func(s sample) float64 { return float64(s.Descriptors) },
	} {
		before, after := median(early, of), median(late, of)
		if after > before*1.15+8 {
			t.Errorf("%s: %.1f in the second quarter, %.1f in the last: it grows", name, before, after)
		}
	}
}

func median(list []sample, of func(sample) float64) float64 {
	values := make([]float64, len(list))
	for i, s := range list {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// soakTable is the section "Soak": about twenty moments of it.
func soakTable(o outcome, samples []sample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Soak\n\n%d jobs in %.0f s, %d faults: %d lost, %d doubled (%s), back in %s ms.\n\n", o.Jobs, o.Seconds, o.Strikes, o.Lost, o.Doubled, o.explained(), o.back())
	b.WriteString("| second | RSS, MB | heap, MB | goroutines | descriptors |\n| --: | --: | --: | --: | --: |\n")
	for i, s := range samples {
		if step := max(len(samples)/20, 1); i%step == 0 || i == len(samples)-1 {
			fmt.Fprintf(&b, "| %d | %.1f | %.1f | %d | %d |\n", s.Second, s.RSS, s.Heap, s.Goroutines, s.Descriptors)
		}
	}
	return b.String()
}

func TestGrowthIsNotFlat(t *testing.T) {
	if m := median([]sample{{RSS: 3}, {RSS: 1}, {RSS: 2}}, func(s sample) float64 { return s.RSS }); m != 2 {
		t.Errorf("median %v, want 2", m)
	}
	grows := make([]sample, 40)
	for i := range grows {
		grows[i].RSS = 20 + float64(i)
	}
	told := &told{TB: t}
	wantFlat(told, grows)
	wantFlat(told, grows[:5])
	wantFlat(told, make([]sample, 40))
	if told.errors != 1 {
		t.Errorf("%d complaints, want one, of the memory that grows", told.errors)
	}
}

// told counts what is complained of.
type told struct {
	testing.TB
	errors int
}

func (c *told) Errorf(string, ...any) { c.errors++ }
