package cli

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/queue"
)

// filter says which dead jobs a verb is for: those for which all that is given holds.
type filter struct {
	error, like  string
	typ          string
	since, until string
	uuids        words
}

// filterUsage is the filter's part of a verb's usage.
const filterUsage = "[--error TEXT] [--like ERROR] [--type TYPE] [--since TIME] [--until TIME] [--uuid UUID]"

// filterHelp is the filter's part of a verb's help.
const filterHelp = `
Which ones: --error takes those whose error has TEXT in it, large and small letters being the same; --like those whose error begins with the same line but for
words with digits in them, as dead list --by error shows it; --type those of this type; --since
and --until those that died then, as 2026-11-30, "2026-11-30 12:00:00" in the configuration's time zone, or 2h for two hours ago; --uuid this
one, and may be given again; what has none goes by the name that dead list shows in its place. What is given together must hold together. In a list a job whose death nobody dated has no time.`

func (f *filter) flags(fs *flag.FlagSet) {
	fs.StringVar(&f.error, "error", "", "with this `text` in their error")
	fs.StringVar(&f.like, "like", "", "with the same `error` but for numbers")
	fs.StringVar(&f.typ, "type", "", "of this `type`")
	fs.StringVar(&f.since, "since", "", "that died then or later: a `time`, or for how long")
	fs.StringVar(&f.until, "until", "", "that died then or earlier: a `time`, or for how long")
	fs.Var(&f.uuids, "uuid", "with this `uuid`, in a list its job_id; may be given again")
}

// words is a flag that may be given several times.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

// Set adds a word.
func (w *words) Set(word string) error {
	if word == "" {
		return fmt.Errorf("want one that is not empty")
	}
	*w = append(*w, word)
	return nil
}

// none reports that nothing is given.
func (f *filter) none() bool {
	return f.error == "" && f.like == "" && f.typ == "" && f.since == "" && f.until == "" && len(f.uuids) == 0
}

// text is the filter as the audit trail shows it.
func (f *filter) text() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf("--%s %q", name, compat.Cut(value, errorShown)))
		}
	}
	add("error", f.error)
	add("like", f.like)
	add("type", f.typ)
	add("since", f.since)
	add("until", f.until)
	if len(f.uuids) > 1 {
		add("uuid", fmt.Sprintf("%d of them", len(f.uuids)))
	} else if len(f.uuids) == 1 {
		add("uuid", compat.PlainUUID(f.uuids[0]))
	}
	return strings.Join(parts, " ")
}

// query is the filter as a search knows it. Of several uuids it knows none: matches does.
func (f *filter) query(now time.Time, loc *time.Location) (queue.Query, error) {
	q := queue.Query{Places: []queue.Place{queue.InDead}, Error: f.error, Like: f.like, Type: f.typ}
	if len(f.uuids) == 1 {
		q.UUID = f.uuids[0]
	}
	if f.like != "" && queue.ErrorClass(f.like) == "" { // which every error would be like
		return queue.Query{}, fmt.Errorf("--like %q: want an error, or a line of dead list --by error", f.like)
	}
	var err error
	if q.Since, err = moment("since", f.since, now, loc); err != nil {
		return queue.Query{}, err
	}
	if q.Until, err = moment("until", f.until, now, loc); err != nil {
		return queue.Query{}, err
	}
	return q, nil
}

// matches reports whether e is one of several uuids.
func (f *filter) matches(e queue.Entry) bool {
	return len(f.uuids) < 2 || slices.ContainsFunc(f.uuids, e.IsNamed)
}

// eldest is the year before which nobody means: jobs died later, and the zero time, of the year 1, would be no bound at all.
const eldest = 1970

// moment reads a time that somebody wrote, or how long ago it was; the zero one for none.
func moment(name, text string, now time.Time, loc *time.Location) (time.Time, error) {
	return momentBy(name, text, loc, func(d time.Duration) time.Time { return now.Add(-d) }, "for how long")
}

// comingMoment is moment for a time to come: a duration says how far from now.
func comingMoment(name, text string, now time.Time, loc *time.Location) (time.Time, error) {
	return momentBy(name, text, loc, now.Add, "in how long")
}

func momentBy(name, text string, loc *time.Location, by func(time.Duration) time.Time, how string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return by(d), nil
	}
	for _, layout := range []string{time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly, time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, loc); err == nil && at.Year() >= eldest {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf(`--%s %q: want a time such as 2026-11-30 or "2026-11-30 12:00:00", not before %d, or %s, such as 2h`, name, text, eldest, how)
}

// deadSearch looks through dead for those that a filter means.
type deadSearch struct {
	session
	filter *filter
	query  queue.Query
	now    time.Time // Redis's, when it began
}

func newDeadSearch(ctx context.Context, rdb redis.UniversalClient, s session, f *filter) (deadSearch, error) {
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return deadSearch{}, fmt.Errorf("ask Redis for the time: %w", err)
	}
	q, err := f.query(now, s.cfg.Timezone)
	if err != nil {
		return deadSearch{}, filterError{err}
	}
	return deadSearch{s, f, q, now}, nil
}

// filterError reports a filter that cannot be read.
type filterError struct{ error }

// found is what one step after the other finds, of that what the filter means. The last one's Unsure says that dead changed so much
// meanwhile that some may have been passed over.
func (d deadSearch) found(ctx context.Context) iter.Seq2[queue.Found, error] {
	return func(yield func(queue.Found, error) bool) {
		search, err := d.store.NewSearch(d.query, d.cfg.Timezone)
		if err != nil {
			yield(queue.Found{}, err)
			return
		}
		for found, err := range search.All(ctx) {
			found.Entries = slices.DeleteFunc(found.Entries, func(e queue.Entry) bool { return !d.filter.matches(e) })
			if !yield(found, err) {
				return
			}
		}
	}
}

// entries are the jobs that are found, one by one. Progress tells how far the search has come.
func (d deadSearch) entries(ctx context.Context, progress *progress) iter.Seq2[queue.Entry, error] {
	return d.source().entries(ctx, progress)
}

// source is the search as a mover takes it.
func (d deadSearch) source() source {
	return source{found: d.found, one: "dead job", many: "dead jobs", filter: d.filter.text(), uuids: d.filter.uuids, now: d.now}
}
