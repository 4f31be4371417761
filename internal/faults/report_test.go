package faults

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// report collects what was found and writes it, as JSON and as faults.md, into FAULTS_REPORT, if that is set.
type report struct {
	t   testing.TB
	dir string

	mu       sync.Mutex
	outcomes []outcome // guarded by mu
}

// newReport returns a report that is written when the test ends.
func newReport(t testing.TB) *report {
	return &report{t: t, dir: os.Getenv("FAULTS_REPORT")}
}

// add takes in one kind's outcome, and writes the report anew, so that a run that is broken off leaves what it found.
func (r *report) add(o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, o)
	r.write()
}

func (r *report) write() {
	slices.SortFunc(r.outcomes, func(a, b outcome) int { return cmp.Compare(a.Kind, b.Kind) })
	r.part("counts", r.outcomes, countsTable(r.outcomes))
}

// addOld takes in what was found of the old consumer.
func (r *report) addOld(list []contest) { r.part("old", list, oldTable(list)) }

// part writes one section as JSON and as Markdown, and faults.md of all sections that are there.
func (r *report) part(name string, found any, table string) {
	if r.dir == "" {
		return
	}
	text, err := json.MarshalIndent(found, "", "  ")
	files := map[string]string{name + ".json": string(text) + "\n", name + ".md": table}
	if err == nil {
		err = os.MkdirAll(r.dir, 0o755)
	}
	for file, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(r.dir, file), []byte(text), 0o644))
	}
	var all []byte
	for _, section := range []string{"counts", "old", "soak"} {
		if text, err := os.ReadFile(filepath.Join(r.dir, section+".md")); err == nil {
			all = append(append(all, text...), '\n')
		}
	}
	if err = errors.Join(err, os.WriteFile(filepath.Join(r.dir, "faults.md"), all, 0o644)); err != nil {
		r.t.Errorf("write the report: %v", err)
	}
}

// oldTable is the section "The old consumer".
func oldTable(list []contest) string {
	var b strings.Builder
	b.WriteString("## The old consumer\n\n| fault | jobs | strikes | done | in the keys | lost | doubled | the same done to sidecars |\n" +
		"| --- | --: | --: | --: | --: | --: | --: | --- |\n")
	for _, c := range list {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | `%s` |\n", c.Fault, c.Jobs, c.Strikes, c.Done, c.Dead, c.Lost, c.Doubled, c.Same)
	}
	return b.String()
}

const columns = "| kind | jobs | strikes | runs | done | dead | lost | doubled | explained | back in, ms |\n" +
	"| --- | --: | --: | --: | --: | --: | --: | --: | --- | --- |\n"

// countsTable is the section "Counts", one line a kind and their sum.
func countsTable(outcomes []outcome) string {
	var b strings.Builder
	b.WriteString("## Counts\n\n" + columns)
	sum := outcome{Kind: "**all**", account: account{Explained: make(map[string]int)}}
	for _, o := range outcomes {
		b.WriteString(o.row())
		sum.Strikes += o.Strikes
		sum.BackMS = append(sum.BackMS, o.BackMS...)
		sum.plus(o.account)
	}
	b.WriteString(sum.row())
	b.WriteString("\nOf these, on the topic that the old consumer shares: " + fmt.Sprintf("%d runs by it, %d jobs doubled and %d lost by it.\n",
		sum.OldRuns, sum.OldTwo, sum.OldLost))
	return b.String()
}

func (a *account) plus(b account) {
	a.Jobs += b.Jobs
	a.Runs += b.Runs
	a.Done += b.Done
	a.Dead += b.Dead
	a.Lost += b.Lost
	a.Doubled += b.Doubled
	a.Forgotten += b.Forgotten
	a.OldRuns += b.OldRuns
	a.OldLost += b.OldLost
	a.OldTwo += b.OldTwo
	for why, n := range b.Explained {
		a.Explained[why] += n
	}
}

func (o outcome) row() string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %s | %s |\n",
		o.Kind, o.Jobs, o.Strikes, o.Runs, o.Done, o.Dead, o.Lost, o.Doubled, o.explained(), o.back())
}

// explained tells what explains the doubles, and what else there is to say.
func (o outcome) explained() string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(o.Explained)) {
		parts = append(parts, fmt.Sprintf("%d %s", o.Explained[why], why))
	}
	if o.Forgotten > 0 {
		parts = append(parts, fmt.Sprintf("%d forgotten by Redis", o.Forgotten))
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}

// back tells how long it took until jobs ran again: half of the times, and at most.
func (o outcome) back() string {
	if len(o.BackMS) == 0 {
		return "–"
	}
	sorted := slices.Sorted(slices.Values(o.BackMS))
	return fmt.Sprintf("%d, at most %d", sorted[len(sorted)/2], sorted[len(sorted)-1])
}

// line is the outcome for the test's own log.
func (o outcome) line() string {
	return fmt.Sprintf("%d jobs, %d strikes in %.1f s: %d runs, %d done, %d dead, %d lost, %d doubled (%s); back in %s ms; old consumer: %d runs, %d lost, %d doubled; before %+v, after %+v",
		o.Jobs, o.Strikes, o.Seconds, o.Runs, o.Done, o.Dead, o.Lost, o.Doubled, o.explained(), o.back(), o.OldRuns, o.OldLost, o.OldTwo, o.Before, o.After)
}
