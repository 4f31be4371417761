package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ScoreUnit is the unit of the scores in a topic's pool.
type ScoreUnit string

// The score units.
const (
	Milliseconds ScoreUnit = "ms"
	Seconds      ScoreUnit = "s"
)

// Idempotency says which marks on the old key idem:<topic>:<uuid> are believed.
type Idempotency string

// The idempotency modes (CONTRACT 1.4).
const (
	// IdempotencyOff neither reads nor writes marks.
	IdempotencyOff Idempotency = "off"
	// IdempotencyOn believes only our own mark, which says done.
	IdempotencyOn Idempotency = "on"
	// IdempotencyLegacy also believes the old consumer's mark, which it sets before the work and
	// never takes back: a job the old consumer failed or died on is completed unrun.
	IdempotencyLegacy Idempotency = "legacy"
)

// Encoding says whether a topic's texts may be wrapped by the PHP client's serializer and compression.
type Encoding string

// The encodings.
const (
	// EncodingPlain takes texts as they are.
	EncodingPlain Encoding = "plain"
	// EncodingAuto unwraps what phpredis's OPT_SERIALIZER and OPT_COMPRESSION wrote, text by text, and writes what comes
	// of it in the same form.
	EncodingAuto Encoding = "auto"
)

// Order says from which end of a list jobs are taken; producers LPUSH.
type Order string

// The orders (CONTRACT 2).
const (
	// FIFO takes the oldest job: from the right.
	FIFO Order = "fifo"
	// LIFO takes the newest: from the left, as the old worker's BLPOP does.
	LIFO Order = "lifo"
)

// ListOptions make a topic one of profile list, named as in the TOML file. Keys stand without the client-side prefix.
type ListOptions struct {
	Key      string // key: the list
	Shards   int    // shards: 0 = key is the list itself, n = the lists key_0 … key_<n-1>
	Order    Order  // order
	Dead     string // dead: the dead letter list, which other lists may share
	MaxRetry int    // max_retry: of jobs that do not say

	// Whose a dead letter is that says no reason, by its type: this list's when it is one of Types, or there is a default
	// route and the type is no other list's that shares Dead.
	Types   []string // with a route here; and, beside a default route, the one that Key ends with (CONTRACT 2)
	Default bool     // others have the default route
	Foreign []string // the Types of other lists that share Dead
}

// owns reports whether a job of that type is this list's.
func (o ListOptions) owns(name string) bool {
	return slices.Contains(o.Types, name) || o.Default && !slices.Contains(o.Foreign, name)
}

// DefaultListOptions returns the defaults of CONTRACT 2. Key and Dead have none.
func DefaultListOptions() ListOptions { return ListOptions{Order: FIFO, MaxRetry: 3} }

// Options are one topic's queue settings, named as in the TOML file.
type Options struct {
	Topic        string
	List         *ListOptions    // nil: profile delay
	Workers      int             // workers: jobs at once on this sidecar, at most
	LookAhead    int             // claims in hand for each worker, at most, as far as the Gate allows; 0 and 1: the one it runs
	Lease        time.Duration   // lease
	Retry        []time.Duration // retry: the ladder; its length is the number of retries
	MaxCrashes   int             // max_crashes
	ScanInterval time.Duration   // scan_interval
	Batch        int             // batch
	ReadyMax     int             // ready_max
	ScoreUnit    ScoreUnit       // score_unit
	Idempotency  Idempotency     // idempotency
	Encoding     Encoding        // encoding
	DecodeLimit  int             // decode_limit: bytes a text may have once it is unwrapped
	StallAfter   time.Duration   // stall_after: how long due work may go unclaimed without a reason; 0: for ever
	Rate         Rate            // rate: how many jobs may start in how long on this sidecar
	PauseWindows []Window        // pause_windows: when nothing is claimed
	Breaker      int             // breaker: equal failures in a row that pause the topic on this sidecar; 0: none do
	BreakerProbe time.Duration   // breaker_probe: how often one job is tried then
}

// DefaultOptions returns the defaults of CONTRACT 1.1 and 1.3. Workers is 0: the pool's children.
func DefaultOptions() Options {
	return Options{
		Lease:        30 * time.Second,
		Retry:        []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute},
		MaxCrashes:   5,
		ScanInterval: 100 * time.Millisecond,
		Batch:        200,
		ReadyMax:     60000,
		ScoreUnit:    Milliseconds,
		Idempotency:  IdempotencyOff,
		Encoding:     EncodingPlain,
		DecodeLimit:  16 << 20,
		StallAfter:   time.Minute,
		BreakerProbe: 30 * time.Second,
	}
}

// Bounds of the options.
const (
	minLease = 3 * time.Second
	minScan  = time.Millisecond
	minStall = 10 * time.Second // a claim that waits for a slow Redis is none
	// maxLookAhead bounds what is claimed and not begun: other sidecars may be idle meanwhile (DESIGN 3).
	maxLookAhead = 64
	maxBatch     = 500 // CONTRACT 1.1: never above, or one script call holds Redis up
)

// Validate reports every bad option at once. Each fault begins with the option's name in the TOML file.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if o.Workers < 1 {
		bad("workers = %d: want at least 1", o.Workers)
	}
	if o.LookAhead < 0 || o.LookAhead > maxLookAhead {
		bad("look_ahead = %d: want 0 to %d", o.LookAhead, maxLookAhead)
	}
	if o.Lease < minLease {
		bad("lease = %q: want at least %q: it is renewed every third of it, and a pause of a second must not cost the job", o.Lease, minLease)
	}
	for i, delay := range o.Retry {
		if delay < 0 {
			bad("retry[%d] = %q: want zero or more", i, delay)
		}
	}
	if o.MaxCrashes < 0 {
		bad("max_crashes = %d: want zero or more", o.MaxCrashes)
	}
	if o.ScanInterval < minScan {
		bad("scan_interval = %q: want at least %q", o.ScanInterval, minScan)
	}
	if o.Batch < 1 || o.Batch > maxBatch {
		bad("batch = %d: want 1 to %d: one script call must not hold Redis up", o.Batch, maxBatch)
	}
	if o.ReadyMax < 1 {
		bad("ready_max = %d: want at least 1", o.ReadyMax)
	}
	if !o.ScoreUnit.known() {
		bad("score_unit = %q: want %q or %q", o.ScoreUnit, Milliseconds, Seconds)
	}
	if o.StallAfter != 0 && o.StallAfter < minStall {
		bad("stall_after = %q: want at least %q, or \"0s\" to look for no stalls", o.StallAfter, minStall)
	}
	if !o.Idempotency.known() {
		bad("idempotency = %q: want %q, %q or %q", o.Idempotency, IdempotencyOff, IdempotencyOn, IdempotencyLegacy)
	}
	errs = append(errs, o.validateEncoding(), o.validateList(), o.validateBrake())
	return errors.Join(errs...)
}

func (u ScoreUnit) known() bool {
	switch u {
	case Milliseconds, Seconds:
		return true
	case Microseconds: // some write it, and none may mean to
	}
	return false
}

func (i Idempotency) known() bool {
	switch i {
	case IdempotencyOff, IdempotencyOn, IdempotencyLegacy:
		return true
	}
	return false
}
