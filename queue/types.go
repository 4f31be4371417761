package queue

import "time"

// ServerTime is a time by Redis's own clock (TIME), in microseconds since the epoch. Due times and
// leases are compared with it and never with a host's clock (CONTRACT 1).
type ServerTime int64

// Sub returns the time from u to t.
func (t ServerTime) Sub(u ServerTime) time.Duration { return time.Duration(t-u) * time.Microsecond }

// Add returns the time d after t.
func (t ServerTime) Add(d time.Duration) ServerTime { return t + ServerTime(d.Microseconds()) }

// IsZero reports that t was never set.
func (t ServerTime) IsZero() bool { return t == 0 }

// In returns t as a wall time in loc, for texts that people read.
func (t ServerTime) In(loc *time.Location) time.Time {
	return time.UnixMicro(int64(t)).In(loc)
}

// Lease is a running entry's score, in digits that give the very same number again. The scripts compare the
// numbers: not every version of Redis prints a score alike.
type Lease string

// Claim is an entry of running and the lease it is held under.
type Claim struct {
	Text  string // in profile list the text under its claim id (compat.SplitClaim)
	Lease Lease
	Sole  bool // no other entry of running has this lease: it tells the text as long as it is not renewed
}

// Claims is what one call of Claim took.
type Claims struct {
	List   []Claim
	Twins  int        // texts put off to the pool because an identical one is running
	Merged int        // of those, how many the pool had already
	More   bool       // ready may hold others
	Now    ServerTime // when

	breaks int64 // the Store's before

	asked, given time.Time // by this host's clock
}

// Due is a text that was promoted and when it had been due.
type Due struct {
	Text string
	At   ServerTime
}

// Promotion is what one call of Promote did.
type Promotion struct {
	Promoted     int
	Backpressure bool       // ready was full: nothing was looked at
	Next         ServerTime // when the next text is due; 0: none, or never
	Now          ServerTime

	// Due are the promoted texts with their due times. Of a full batch, whose lateness is the backlog's
	// and much the same for all, it holds the oldest only.
	Due []Due

	// OldestScore is the lowest score promoted, as Redis prints it; "" when none was.
	// It shows a producer that writes another unit than score_unit says.
	OldestScore string

	// NextScore is the lowest score left, likewise; "" when none is. Of a unit that is too small for the topic's no job is
	// ever due, so only this shows it.
	NextScore string
}

// Renewal asks for a claim's lease to be moved from Held to Next.
// Next is accepted as found, too: the reply of an earlier try may have been lost.
type Renewal struct {
	Text       string
	Held, Next Lease
	UUID       string // profile list: whose ack is kept young; "" touches none
}

// Completion ends a job that is done.
type Completion struct {
	Text string // as in Claim; likewise in Requeueing and Burial

	// Held is the lease the job runs under. Next is the one a renewal still under way may
	// have set; "" when there is none. Either counts as ours.
	Held, Next Lease

	UUID string // marked as done in the same step; "" sets no mark

	Sole bool // Held is a claim's first and only lease, which no other entry has (see Claim)
}

// Requeueing swaps a running text for the one that is to run later.
type Requeueing struct {
	Text       string
	Held, Next Lease // as in Completion
	NewText    string
	Delay      time.Duration // from now by Redis's clock
	ToReady    bool          // to the head of ready instead of the pool; Delay does not matter
	UUID       string        // a mark that does not say done is deleted; "" touches none
	Expired    bool          // the claim was read by Expired: skip when its entry is gone
}

// Burial swaps a running text for a dead record.
type Burial struct {
	Text       string
	Held, Next Lease  // as in Completion
	Record     string // the dead record (CONTRACT 1.3); in profile list the reason that is kept beside the text
	UUID       string // as in Requeueing
	Expired    bool   // as in Requeueing
}

// Settlement says how a claim was settled.
type Settlement int

// The settlements. They start at 1, so that a forgotten value is none.
const (
	// Settled: done as asked, under our lease.
	Settled Settlement = iota + 1
	// Gone: the running entry was absent. A success is fine as it is; a failure was swapped where its
	// text was found, or its text is with others and ours was dropped: so it is always once the lease has ended.
	Gone
	// Lost: running holds the text under somebody else's lease. Nothing was changed but the mark of a success.
	Lost
	// Skipped: the entry of an expired claim was gone, so somebody else has settled it.
	Skipped
	// Readded: the text was taken away within our lease and was in no key, so the new one was added.
	Readded
)

// String returns the settlement's name as logs spell it.
func (s Settlement) String() string {
	switch s {
	case Settled:
		return "settled"
	case Gone:
		return "gone"
	case Lost:
		return "lost"
	case Skipped:
		return "skipped"
	case Readded:
		return "readded"
	}
	return "unknown"
}

// SettleResult is what became of one Completion, Requeueing or Burial.
type SettleResult struct {
	Settlement Settlement

	// Err reports that Redis refused the write (OOM, WRONGTYPE, NOPERM; see FaultOf). The text is where it
	// was, under its old lease: offer the same thing again. Settlement is 0 then.
	Err error
}

// Depths are one topic's key sizes.
type Depths struct {
	Pool, Due, Ready, Running, Dead int64

	Shards []int64 // profile list: Ready by shard, and behind them what lies in the list that had none

	// OldestDueAge is how long the oldest due text of the pool has been due; 0 when none is. In profile list it is also
	// how long ago the job that is the oldest of a shard was created, by its own word, whichever is longer.
	OldestDueAge time.Duration

	// OldestScore and LatestScore are the pool's lowest and highest score as Redis prints them; "" when it is empty.
	OldestScore, LatestScore string

	Now ServerTime
}

// Replays is what one call of Replay did.
type Replays struct {
	Replayed   []string // the texts that went to the pool, or would go in a dry run; unwrapped
	Unreadable []string // dead records that are no record of ours or of the old consumer; moved to the tail
	NoJobs     []string // records whose text is no job, so that it cannot run; likewise, unless they were asked for
}
