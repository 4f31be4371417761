package faults

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// size is how long a run of one kind is: it ends when there were both so many jobs and so many strikes.
type size struct {
	jobs, strikes int
	rate          int  // jobs a second while faults strike; 0 = as many as the shop can do
	warm, quick   int  // jobs before any fault, and such as do nothing
	long          bool // by hand, one kind at a time: the promises about time are held to
}

// theSize is that of FAULTS_JOBS and FAULTS_STRIKES, or the short form. That one leaves the machine some room: its kinds
// strike side by side, and beside the tests of other packages.
func theSize(t testing.TB) size {
	z := size{jobs: 300, strikes: 2, rate: 150, warm: 100, quick: 500}
	for name, field := range map[string]*int{"FAULTS_JOBS": &z.jobs, "FAULTS_STRIKES": &z.strikes} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%s: want a number of at least 1", name, text)
		}
		*field, z.long = n, true
	}
	if z.long {
		z.rate, z.warm, z.quick = 0, 600, 4000
	}
	return z
}

// theSeed is FAULTS_SEED, or one that differs from run to run.
func theSeed(t testing.TB) uint64 {
	text := os.Getenv("FAULTS_SEED")
	if text == "" {
		return uint64(os.Getpid())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("FAULTS_SEED=%s: want a number", text)
	}
	return seed
}

// outcome is what the harness found for one kind of fault.
type outcome struct {
	Kind    string  `json:"kind"`
	About   string  `json:"about"`
	Seed    uint64  `json:"seed"`
	Strikes int     `json:"strikes"`
	Seconds float64 `json:"seconds"`
	BackMS  []int64 `json:"back_ms"` // from the end of each strike to the next start of a job, of the slower sidecar
	Before  usage   `json:"before"`
	After   usage   `json:"after"`
	account
}

func TestNothingIsLostByAnyKindOfFault(t *testing.T) {
	only, err := regexp.Compile(os.Getenv("FAULTS_KINDS"))
	if err != nil {
		t.Fatal(err)
	}
	z, seed := theSize(t), theSeed(t)
	report := newReport(t)
	for _, k := range kinds() {
		if !only.MatchString(k.name) {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			if !z.long {
				t.Parallel() // most of the time of a short run is waiting
			}
			hash := fnv.New64a()
			fmt.Fprint(hash, k.name)
			o := runKind(t, k, z, seed^hash.Sum64())
			o.Seed = seed
			report.add(o)
		})
	}
}

// runKind runs a shop under one kind of fault and accounts for all its jobs.
func runKind(t *testing.T, k kind, z size, seed uint64) outcome {
	t.Helper()
	begin := time.Now()
	o := outcome{Kind: k.name, About: k.about}
	s := newShop(t, k, seed)
	s.warmUp(z)
	s.jobs.rate = z.rate
	var err error
	if o.Before, err = s.idleUsage(); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.jobs.run(ctx) })
	if k.slow && !z.long {
		z.strikes = 1
	}
	for o.Strikes < z.strikes || s.jobs.count() < z.jobs {
		back, err := s.struck(ctx, k, z)
		if err != nil {
			t.Errorf("strike %d of %s: %v", o.Strikes+1, k.name, err)
			break
		}
		o.Strikes++
		o.BackMS = append(o.BackMS, back.Milliseconds())
	}
	stop()
	wg.Wait()

	running := time.Since(begin)
	if err := s.awaitDrained(t.Context(), testenv.Slack*time.Minute); err != nil {
		t.Error(err)
	}
	drained := time.Since(begin)
	if o.After, err = s.awaitUsage(o.Before); err != nil {
		t.Error(err)
		for _, p := range s.sidecars {
			p.dump()
		}
	} else {
		s.stopAll()
	}
	o.account = settleAccounts(s.evidence(k))
	for i, fault := range o.Faults {
		if i < 20 {
			t.Error(fault)
		}
	}
	o.Seconds = time.Since(begin).Seconds()
	t.Logf("%s (running until %.1f s, drained after %.1f s)", o.line(), running.Seconds(), drained.Seconds())
	return o
}

// warmUp has every child, connection and goroutine in use once, so that what the shop holds afterwards is what it needs.
// Quick jobs come all at once: the sidecars keep a goroutine for each that they ever claimed ahead at a time.
func (s *shop) warmUp(z size) {
	s.t.Helper()
	ctx := s.t.Context()
	s.jobs.write(ctx, z.warm)
	pipe := s.rdb.Pipeline()
	for i := range z.quick {
		pipe.RPush(ctx, "delay:ready:"+topicWorker, fmt.Sprintf(`{"uuid":"warm-%d","fate":"warm","us":0}`, i))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		s.t.Fatal(err)
	}
	if err := s.awaitDrained(ctx, testenv.Slack*time.Minute); err != nil {
		s.t.Fatalf("before any fault: %v", err)
	}
}

// struck lets jobs run for a moment, strikes once and waits until jobs run again. It returns how long that took.
func (s *shop) struck(ctx context.Context, k kind, z size) (time.Duration, error) {
	// As long as the last strike took, or jobs would only run at its edges.
	linger(ctx, max(s.lasted, time.Duration(s.rng.IntN(200))*time.Millisecond))
	over, began := s.markWhole(k), time.Now()
	if err := k.strike(ctx, s); err != nil {
		return 0, err
	}
	over()
	s.lasted = time.Since(began)
	within := backWithinShort
	if z.long {
		within = backWithin
	}
	return s.awaitBack(time.Now(), within)
}

// stopAll stops the sidecars as a release does. They must end well.
func (s *shop) stopAll() {
	s.t.Helper()
	for _, p := range s.sidecars {
		if err := p.stop(); err != nil {
			s.t.Error(err)
		}
	}
}

// evidence collects what is known in the end.
func (s *shop) evidence(k kind) evidence {
	s.t.Helper()
	e := evidence{
		written: s.jobs.all(), runs: s.ledger.byJob(), dead: make(map[string]int), left: make(map[string]bool),
		forgotten: s.forgotten, marks: s.marks, oldLoses: k.oldLoses != "",
	}
	for _, topic := range topics {
		pipe := s.rdb.Pipeline()
		f := keysOf(topic).find(s.t.Context(), pipe)
		if _, err := pipe.Exec(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		left, err := f.left()
		dead, err2 := f.buried()
		if err := errors.Join(err, err2); err != nil {
			s.t.Errorf("%s: %v", topic, err)
		}
		for _, uuid := range dead {
			e.dead[uuid]++
		}
		for _, uuid := range left {
			e.left[uuid] = true
		}
	}
	return e
}
