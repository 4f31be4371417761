package dash

import (
	"context"
	"errors"
	"fmt"

	"sidecar/internal/plural"
)

// Source is what the pages show and what they do. Its values are the same that the JSON API encodes. A method takes
// no longer than its ctx, reads Redis by bounded ranges only, and asks Viewing(ctx) who is looking, to keep payloads
// from those who may not see them and to say in the audit trail who did what.
type Source interface {
	// Overview tells of all topics, pools and sidecars at once. It may be some seconds old: many look at the same time.
	// An unreachable Redis is no error here but Overview.Redis.
	Overview(ctx context.Context) (Overview, error)

	// Topic tells of one topic or list. ErrNotFound when there is none of that name.
	Topic(ctx context.Context, name string) (TopicView, error)

	// Jobs returns a page of one key's jobs.
	Jobs(ctx context.Context, q JobsQuery) (JobsPage, error)

	// Job returns what is known of one job. ErrNotFound when it is not where ref says any more, nor near it: a search finds it.
	Job(ctx context.Context, topic, ref string) (JobView, error)

	// Search takes one step of a search, a bounded one, and says where the next begins.
	Search(ctx context.Context, q SearchQuery) (SearchStep, error)

	// Audit returns what was done by hand, the newest first: on one topic, or with topic = "" on all.
	Audit(ctx context.Context, topic string) ([]AuditLine, error)

	// Select says what an act would take, and changes nothing.
	Select(ctx context.Context, a Act) (Selection, error)

	// Replay puts dead jobs back, Drop takes them away into a file that Undo reads, Requeue lets jobs of the pool run now.
	// Each takes no more than a bounded number of jobs and says whether more are left.
	Replay(ctx context.Context, a Act) (Result, error)
	Drop(ctx context.Context, a Act) (Result, error)
	Requeue(ctx context.Context, a Act) (Result, error)

	// Undo takes a replay, a drop or a requeue by a file back, as far as its jobs have not run since.
	Undo(ctx context.Context, id string) (Result, error)

	// Pause keeps all sidecars from claiming the topic's jobs; Resume ends that, and a breaker's break, too, and says whether there was
	// one or the other to end.
	Pause(ctx context.Context, p PauseOrder) error
	Resume(ctx context.Context, topic string) (ended bool, err error)
}

// What a Source says where the page has words of its own. Others are shown as they are.
var (
	// ErrNotFound: no such topic, no such job, no such undo.
	ErrNotFound = errors.New("not found")

	// ErrRedis: Redis cannot be reached, or refuses.
	ErrRedis = errors.New("redis does not answer")

	// ErrDenied: whoever looks may not do that.
	ErrDenied = errors.New("not permitted")
)

// HalfwayError reports an act that did not come to its end: what it is known to have done, and why it ended. One more job may have been moved, none
// behind it was begun.
type HalfwayError struct {
	Done Result
	Err  error
}

// Error says what was done and what is not known.
func (h HalfwayError) Error() string {
	return fmt.Sprintf("done for %s, not known of one more, not begun for the others: %v", plural.Of(h.Done.Count, "job", "jobs"), h.Err)
}

// Unwrap returns why the act ended.
func (h HalfwayError) Unwrap() error { return h.Err }
