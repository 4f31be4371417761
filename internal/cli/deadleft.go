package cli

import (
	"crypto/sha256"
	"fmt"
	"io"

	"sidecar/internal/plural"
)

// whyLeft is why a job stays where it is.
type whyLeft int

const (
	twin       whyLeft = iota + 1 // an equal text waits in the pool
	again                         // its uuid was moved before
	noJob                         // its text is none
	unreadable                    // the record is none
	waitsAgain                    // its uuid was requeued before
)

// leftJobs are the jobs that a verb met and did not move. The same may be met several times.
type leftJobs map[whyLeft]sums

func newLeftJobs() leftJobs {
	return leftJobs{twin: {}, again: {}, noJob: {}, unreadable: {}, waitsAgain: {}}
}

// print says which jobs stay where they are, and why.
func (l leftJobs) print(w io.Writer) {
	for _, line := range []struct {
		why       whyLeft
		one, many string
	}{
		{unreadable, "record holds no job: left where it is", "records hold no job: left where they are"},
		{
			noJob, "record holds a text that is no JSON object and cannot run: left where it is; --raw replays it",
			"records hold a text that is no JSON object and cannot run: left where they are; --raw replays them",
		},
		{
			twin, "job stays dead: the pool holds an equal text, with which it would become one",
			"jobs stay dead: the pool holds an equal text, with which they would become one",
		},
		{
			again, "job stays dead whose uuid was replayed just now: it died again meanwhile, or is there twice",
			"jobs stay dead whose uuid was replayed just now: they died again meanwhile, or are there twice",
		},
		{
			waitsAgain, "job waits on whose uuid was requeued just now: it has run and waits for its retry, or is there twice",
			"jobs wait on whose uuid was requeued just now: they have run and wait for their retry, or are there twice",
		},
	} {
		if n := len(l[line.why]); n > 0 {
			fmt.Fprintln(w, plural.Of(n, line.one, line.many))
		}
	}
}

// sums are texts, of which only the sums are kept: there may be many.
type sums map[[sha256.Size]byte]bool

func (s sums) add(text string)      { s[sha256.Sum256([]byte(text))] = true }
func (s sums) drop(text string)     { delete(s, sha256.Sum256([]byte(text))) }
func (s sums) has(text string) bool { return s[sha256.Sum256([]byte(text))] }

func sumsOf(texts []string) sums {
	s := make(sums, len(texts))
	for _, text := range texts {
		s.add(text)
	}
	return s
}
