package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/config"
	"sidecar/queue"
)

const (
	// sampled is how many texts at each end of a key are read.
	sampled = 50
	// overdueFor is how long a lease may be over before somebody should have noticed; a scanner looks every second or so.
	overdueFor = time.Minute
	// databasesMost bounds the databases that are looked through for keys of a topic that has none.
	databasesMost = 16
)

// topics asks for what the keys of all topics hold. It ends where Redis answers no more: lost says why, and the topics
// from there on are missing.
func (q *inquirer) topics(ctx context.Context, rdb redis.UniversalClient, topics []config.Topic) (all []TopicKeys, lost error) {
	for i, t := range topics {
		k, err := q.topic(ctx, rdb, t)
		if err != nil {
			return all, fmt.Errorf("%d of %d topics could not be looked at: %w", len(topics)-i, len(topics), err)
		}
		all = append(all, k)
	}
	return all, nil
}

// topic asks for what a topic's keys hold. An error is Redis's, and not the topic's.
func (q *inquirer) topic(ctx context.Context, rdb redis.UniversalClient, t config.Topic) (TopicKeys, error) {
	prefix, where := q.cfg.Redis.KeyPrefix, "topic "+t.Name
	store := queue.NewStore(rdb, prefix, t.Queue)
	k := TopicKeys{Topic: t}
	err := store.Check(ctx)
	switch fault := queue.FaultOf(err); {
	case ctx.Err() != nil, fault == queue.Network:
		return k, err
	case fault == queue.WrongType: // the look at the keys says which
	default:
		k.RightsErr = err
	}
	if k.Depths, err = store.Depths(ctx); err != nil && k.RightsErr == nil && queue.FaultOf(err) != queue.WrongType {
		q.note(where, "EVALSHA", err)
	}
	if k.Now = k.Depths.Now; k.Now.IsZero() {
		if now, err := rdb.Time(ctx).Result(); err == nil {
			k.Now = queue.ServerTime(now.UnixMicro()) //nolint:forbidigo // Redis's own time
		}
	}
	k.Looks, err = store.Look(ctx, sampled)
	if q.note(where, "TYPE, PTTL, ZRANGE or LRANGE", err) {
		k.Overdue, err = store.Overdue(ctx, k.Now, overdueFor)
		if queue.FaultOf(err) != queue.WrongType {
			q.note(where, "ZCOUNT", err)
		}
	}
	k.Left, err = store.LeftShards(ctx, prefix)
	q.note(where, "LLEN", err)
	return k, nil
}

// seeKeys goes through the keys, for topics whose keys are behind another prefix, all or some, and for topics that are not
// configured.
func (q *inquirer) seeKeys(ctx context.Context, rdb redis.UniversalClient, r *Redis) {
	seen, err := queue.SeeKeys(ctx, rdb, q.cfg.Redis.KeyPrefix, optionsOf(r.Topics))
	q.note("redis", "SCAN", err)
	r.Dangers = append(r.Dangers, seen.Dangers()...)
	for i, k := range r.Topics {
		if k.used() {
			r.Topics[i].Prefixes = seen.OtherPrefixes(ctx, k.Topic.Queue)
		}
	}
	r.Strangers = seen.Strangers(q.cfg.Queues())
}

func optionsOf(topics []TopicKeys) []queue.Options {
	opts := make([]queue.Options, 0, len(topics))
	for _, k := range topics {
		opts = append(opts, k.Topic.Queue)
	}
	return opts
}

// otherDBs notes in all, which are the topics', the other databases that have keys of theirs: for those that have none here all
// such, for the others those in which no sidecar has lived for a day.
func (q *inquirer) otherDBs(ctx context.Context, rdb redis.UniversalClient, all []TopicKeys, servers []Server) {
	if q.cfg.Redis.Cluster || len(servers) != 1 {
		return
	}
	prefix := q.cfg.Redis.KeyPrefix
	opts := optionsOf(all)
	for _, n := range q.databases(servers[0]) {
		other, err := queue.Open(q.cfg.Redis.InDB(n), opts)
		if err != nil {
			continue
		}
		counts, err := queue.KeysOf(ctx, other, prefix, opts)
		q.note("redis", fmt.Sprintf("EXISTS in database %d", n), err)
		lived := queue.Lived(ctx, other, prefix)
		for i, there := range counts {
			if there > 0 && (!lived || !all[i].used()) {
				all[i].OtherDBs = append(all[i].OtherDBs, n)
			}
		}
		_ = other.Close()
	}
}

// databases are those besides our own that hold something.
func (q *inquirer) databases(s Server) (list []int) {
	own := q.cfg.Redis.Resolved().DB
	for name := range s.Info {
		digits, isDB := strings.CutPrefix(name, "db")
		if n, err := strconv.Atoi(digits); isDB && err == nil && n != own {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list[:min(len(list), databasesMost)]
}

// number reads a figure of INFO or CONFIG, 0 where it is none.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
