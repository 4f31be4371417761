package cli

import (
	"context"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/config"
	"sidecar/internal/plural"
	"sidecar/queue"
)

// lookFor looks for jobs in several topics.
type lookFor struct {
	cfg      *config.Config
	rdb      redis.UniversalClient
	progress *progress
	limit    int
	query    queue.Query
	result   *finding
}

func (l lookFor) in(ctx context.Context, topics []config.Topic) error {
	defer l.progress.done()
	around := lookAround(ctx, l.cfg, l.rdb)
	for _, t := range topics {
		store := queue.NewStore(l.rdb, l.cfg.Redis.KeyPrefix, t.Queue)
		err := l.inTopic(ctx, store, around.of(t))
		switch fault := queue.FaultOf(err); {
		case err == nil:
			l.result.Topics = append(l.result.Topics, t.Name)
		case fault == queue.WrongType || fault == queue.NoPerm: // of this topic's keys; the job may be in another's
			l.result.Failed = append(l.result.Failed, failedLook{t.Name, err.Error()})
		default:
			return err
		}
		if len(l.result.Jobs) >= l.limit {
			return nil
		}
	}
	return nil
}

// inTopic adds what one topic has.
func (l lookFor) inTopic(ctx context.Context, store *queue.Store, where situation) error {
	if err := l.addMark(ctx, store, where.topic); err != nil {
		return err
	}
	search, err := store.NewSearch(l.query, l.cfg.Timezone)
	if err != nil {
		return err
	}
	depths, err := store.Depths(ctx)
	if err != nil {
		return err
	}
	before := l.result.Looked
	seen := make(map[string]bool)
	for cursor := ""; ; {
		found, err := search.Next(ctx, cursor)
		if err != nil {
			return err
		}
		for _, e := range found.Entries {
			id := string(e.Place) + "\n" + e.Stored
			if !seen[id] && len(l.result.Jobs) < l.limit {
				l.result.Jobs = append(l.result.Jobs, where.job(e, depths.Now))
			}
			seen[id] = true
		}
		l.result.Looked = before + found.Looked
		l.result.Unsure = l.result.Unsure || found.Unsure
		l.progress.tell("%s: looked at %d of %s, now in %s", where.topic.Name, found.Looked, plural.Of(found.Of, "text", "texts"), found.Place)
		if cursor = found.Cursor; cursor == "" || len(l.result.Jobs) >= l.limit {
			return nil
		}
	}
}

// addMark notes when the job is known to be done.
func (l lookFor) addMark(ctx context.Context, store *queue.Store, t config.Topic) error {
	if l.result.UUID == "" {
		return nil
	}
	done, err := store.DoneBefore(ctx, []string{l.result.UUID})
	if err != nil {
		return err
	}
	if done[0] {
		l.result.Marks = append(l.result.Marks, mark{t.Name, "done within the last day: a job with this uuid is not run again before that is over"})
	}
	return nil
}
