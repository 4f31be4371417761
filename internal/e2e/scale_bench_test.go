package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	scaleTopics = 200
	scaleFew    = 100_000
	scaleMany   = 1_000_000
	scaleTries  = 9
)

// BenchmarkPagesAtScale asks for every page, every route and the verbs that look, of a queue and of one that is ten times as
// long, and tells for both how long the answer took and the slowest command that Redis saw meanwhile.
func BenchmarkPagesAtScale(b *testing.B) {
	for b.Loop() {
		s := newBigShop(b, scaleTopics)
		s.trail(b)
		s.history(b)
		few := s.measure(b, scaleFew)
		many := s.measure(b, scaleMany)
		var lines []string
		for i, m := range many {
			lines = append(lines, m.line(few[i]))
		}
		tell("load at the end: %s\n", load(b))
		tell("%s", tableOf("| page or verb | KB | first byte, ms | most | whole, ms | to a tenth of the jobs | commands, and with a tenth | slowest command of a look, ms | 99 % of all below | to a tenth | most | most of the others |", lines...))
	}
	b.ReportMetric(0, "ns/op")
}

// tell prints at once, and whole: a benchmark's log is cut after ten lines.
func tell(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }

// measure fills the shop, starts a sidecar on it and looks at everything.
func (s *bigShop) measure(b *testing.B, jobs int) []*figure {
	s.fill(b, jobs)
	began := time.Now()
	p := s.start(s.conf)
	p.wantAdmin(b)
	cold, err := p.see(look{path: "/"})
	if err != nil {
		b.Fatal(err)
	}
	tell("%d jobs: listens after %s; the first overview then took %s and had %d KB; load %s", jobs,
		time.Since(began).Round(time.Millisecond)-cold.whole.Round(time.Millisecond), cold.whole.Round(time.Millisecond), cold.size>>10, load(b))
	p.wantReady(60 * time.Second)
	<-time.After(10 * time.Second)
	s.footprint(b, p, "idle, nobody has looked")
	slow := s.newSlowLog(b)
	background := slow.of(b, 6*time.Second)
	tell("%d jobs: in 6 s without a look: %d commands of %d kinds, slowest %s", jobs, background.n, len(background.kinds), background)
	var figures []*figure
	for _, l := range s.looks(b, p) {
		f := &figure{name: l.name}
		for range scaleTries {
			slow.reset(b)
			one, err := p.see(l)
			if err != nil {
				b.Fatalf("%s: %v", l.name, err)
			}
			f.add(one, slow.read(b, background.kinds), background)
		}
		figures = append(figures, f)
	}
	s.footprint(b, p, "after all pages")
	figures = append(figures, s.searched(b, p, slow, background))
	figures = append(figures, s.verbs(b, slow, background)...)
	tell("%d jobs: commandstats of those that took longest a call: %s", jobs, s.commandStats(b))
	p.kill()
	return figures
}

// searched is a search that finds nothing, to its end: how long until it tells for the first time how far it is, and how
// long it takes in all.
func (s *bigShop) searched(b *testing.B, p *instance, slow *slowLog, background slowest) *figure {
	f := &figure{name: "API search, none found, to its end"}
	slow.reset(b)
	one, err := p.see(look{name: f.name, path: "/api/v1/search?uuid=nosuch", accept: asEvents, steps: true})
	if err != nil {
		b.Fatal(err)
	}
	f.add(one, slow.read(b, background.kinds), background)
	tell("a search that finds nothing told %d times how far it was, first after %s, and ended after %s", one.events, one.first.Round(time.Millisecond), one.whole.Round(time.Millisecond))
	return f
}

// wantAdmin waits until the admin address is known.
func (p *instance) wantAdmin(t testing.TB) {
	t.Helper()
	eventually(t, 30*time.Second, func() error {
		_, _, err := p.get("/healthz")
		return err
	})
}

// load is the machine's load average.
func load(b *testing.B) string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		b.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
