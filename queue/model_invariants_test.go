package queue_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sidecar/compat"
	"sidecar/queue"
)

// What must hold whatever happens. These checks know no script: they look at the keys before and after a step, and
// at who did what.

// ledger counts the copies of each job, by name: what came into the keys, and for what reason it went.
type ledger map[string]*account

type account struct {
	made    int // by a producer, or by an old consumer that adds what it did not hold
	done    int // completed
	merged  int // two identical texts in one ZSET are one
	readded int // added anew by us, whose running entry was gone
	lost    int // by an old consumer between two commands, or by who deletes keys
	carried int // in the hands of an old consumer, in no key
}

// copies is how many copies the keys must hold.
func (a account) copies() int { return a.made + a.readded - a.done - a.merged - a.lost - a.carried }

func (l ledger) of(text string) *account {
	name := nameOf(text)
	if l[name] == nil {
		l[name] = &account{}
	}
	return l[name]
}

// What a failure, a crash or a replay may write into a job (CONTRACT 1.3, 1.5).
var (
	ourFields = regexp.MustCompile(`,"(?:retry|crashes)":-?\d+|"(?:retry|crashes)":-?\d+,|,"(?:last_error|replayed_at)":"(?:[^"\\]|\\.)*"`)
	wrapper   = regexp.MustCompile(`^\{"sidecar_raw":"([A-Za-z0-9+\\/=]*)"\}$`)
	counters  = regexp.MustCompile(`"(retry|crashes)":(-?\d+)`)
)

// nameOf returns what stays of a job all its life: every byte but the fields that are ours. For a dead record it is
// the name of the job inside. A job whose payload was touched has another name, so it counts as lost.
func nameOf(text string) string {
	if record, err := compat.ParseDeadRecord(text); err == nil {
		text = record.Job
	}
	text = ourFields.ReplaceAllString(text, "")
	if wrapped := wrapper.FindStringSubmatch(text); wrapped != nil {
		raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(wrapped[1], `\/`, `/`))
		if err == nil {
			return string(raw)
		}
	}
	return text
}

// counts returns retry and crashes of a text or of the job in a dead record.
func counts(text string) (tries, crashes int) {
	for _, found := range counters.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[2])
		if found[1] == "retry" {
			tries = n
		} else {
			crashes = n
		}
	}
	return tries, crashes
}

// step is what the invariants see of one action.
type step struct {
	before, after state
	sidecar       string                   // which of ours did it
	produced      bool                     // it may bring texts that nobody knows
	replays       bool                     // it takes counts back
	expires       bool                     // it settles claims whose lease has ended
	leases        map[string][]queue.Lease // what the sidecar held before
	texts         []string                 // texts in somebody's hands before
	now           float64                  // ms
}

// noTextVanishes compares the copies of each job in the keys with the ledger.
func noTextVanishes(s step, l ledger) error {
	found := make(map[string]int)
	for _, text := range s.after.texts() {
		found[nameOf(text)]++
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if l[name] == nil {
			return fmt.Errorf("a job nobody made: %q", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if want := l[name].copies(); found[name] != want {
			return fmt.Errorf("%d copies of %q, want %d: %+v", found[name], name, want, *l[name])
		}
	}
	return nil
}

// nobodySettlesWithoutTheLease looks at the entries of running that the sidecar does not hold: they stay as they are,
// but for those whose lease has ended when it looks for such.
func nobodySettlesWithoutTheLease(s step) error {
	if s.sidecar == "" {
		return nil
	}
	for _, text := range slices.Sorted(maps.Keys(s.before.Running)) {
		score := s.before.Running[text]
		ours := slices.ContainsFunc(s.leases[text], func(l queue.Lease) bool { return isLease(score, string(l)) })
		if ours && !s.expires || s.expires && score <= s.now && s.leases[text] == nil {
			continue
		}
		if after, there := s.after.Running[text]; !there || after != score {
			return fmt.Errorf("%q is held by another, and %s touched it", text, s.sidecar)
		}
	}
	return nil
}

// countsRiseByOne compares the texts that are new with what was there of the same job: in one step, retry and crashes
// rise by one at most, and not both. Only a replay takes them back.
func countsRiseByOne(s step) error {
	if s.produced {
		return nil
	}
	known := append(s.before.texts(), s.texts...)
	for _, text := range s.after.texts() {
		if slices.Contains(known, text) {
			continue
		}
		if !slices.ContainsFunc(known, func(old string) bool { return nameOf(old) == nameOf(text) && follows(old, text, s.replays) }) {
			return fmt.Errorf("a text without a forerunner: %q", text)
		}
	}
	return nil
}

// follows reports that text may come of old in one step.
func follows(old, text string, replay bool) bool {
	tries, crashes := counts(text)
	oldTries, oldCrashes := counts(old)
	if replay {
		return tries == 0 && (crashes == 0 || crashes == oldCrashes) // the old script knows no crashes
	}
	tries, crashes = tries-oldTries, crashes-oldCrashes
	return tries >= 0 && crashes >= 0 && tries+crashes <= 1
}

// marksSayTheTruth: a mark says done only of a job that a run of ours has finished, and goes on saying so.
func marksSayTheTruth(s step, finished map[string]bool) error {
	for _, key := range slices.Sorted(maps.Keys(s.after.Marks)) {
		if s.after.Marks[key] == "done" && !finished[key] {
			return fmt.Errorf("%s says done, and no run has ended so", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.before.Marks)) {
		if s.before.Marks[key] == "done" && s.after.Marks[key] != "done" {
			return fmt.Errorf("%s said done, and now %q", key, s.after.Marks[key])
		}
	}
	return nil
}

// claimed is what is known of one claim: the story of one text under one lease.
type claimed struct {
	done    bool   // its run ended in success, or a mark said so
	settled string // who did
}

// story is all claims, by text and any lease they were ever to have.
type story map[claimKey]*claimed

type claimKey struct {
	text  string
	lease float64
}

func (s story) of(text, lease string) *claimed {
	key := claimKey{text, number(lease)}
	if s[key] == nil {
		s[key] = &claimed{} // an old consumer's
	}
	return s[key]
}

// eachClaimIsSettledOnce: no offer that is repeated, or late, does its work twice, and none completes a job that is
// not done. But a failure whose claim was taken by another counts for the text where that lies in the pool: an old
// scanner has put it back there, or it is a twin, which nobody can tell apart (DESIGN 4).
func eachClaimIsSettledOnce(effects []effect, s story, who string) error {
	for _, e := range effects {
		if !e.moved {
			continue
		}
		c := s.of(e.text, e.lease)
		inPool := e.what == queue.Gone
		if c.settled != "" && (c.settled == who || !inPool) {
			return fmt.Errorf("%s: %s settles %q, which %s has settled: %s", e.verb, who, e.text, c.settled, e.what)
		}
		c.settled = who
		if strings.HasPrefix(e.verb, "complete") && !c.done {
			return fmt.Errorf("%q is completed and not done", e.text)
		}
	}
	return nil
}
