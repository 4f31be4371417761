package queue

import (
	"context"
	"strconv"
	"sync"
	"time"
)

// oldestMost is how many bytes the oldest text of a list may have to be asked for its age: depths are read often.
const oldestMost = 64 << 10

// Depths reads how many texts lie in each key, and how old the oldest due one is.
func (s *Store) Depths(ctx context.Context) (Depths, error) {
	keys := append([]string{s.keys.pool, s.keys.running, s.keys.dead}, s.keys.ready...)
	most := 0
	if s.opts.List != nil {
		most = oldestMost
	}
	reply, err := s.list(ctx, "read depths of", 7+2*len(s.keys.ready), depthsScript, keys, s.unit, most)
	if err != nil {
		return Depths{}, err
	}
	d := Depths{
		Now:         reply.time(0),
		Pool:        reply.number(1),
		Due:         reply.number(2),
		Running:     reply.number(3),
		Dead:        reply.number(4),
		OldestScore: reply.text(5),
		LatestScore: reply.text(6),
	}
	if d.Due > 0 {
		// A score that is no time of this age (0 for at once) says nothing about waiting.
		if at := s.due(d.OldestScore); at > always && SuspectUnit(d.OldestScore, s.opts.ScoreUnit, d.Now) == "" {
			d.OldestDueAge = max(0, d.Now.Sub(at))
		}
	}
	for i := range s.keys.ready {
		n := reply.number(7 + i)
		d.Ready += n
		if s.opts.List != nil {
			d.Shards = append(d.Shards, n)
			d.OldestDueAge = max(d.OldestDueAge, s.waiting(reply.text(7+len(s.keys.ready)+i), d.Now))
		}
	}
	return d, nil
}

// depthsAtOnce is how many topics' depths are read at once: Redis may be far away, and jobs need it, too.
const depthsAtOnce = 8

// DepthsRead is what a reading of a topic's depths came to.
type DepthsRead struct {
	Depths Depths
	Err    error
}

// DepthsOf reads the depths of stores, some at once, and returns what each came to, in their order. However many they are,
// it ends with ctx.
func DepthsOf(ctx context.Context, stores []*Store) []DepthsRead {
	read := make([]DepthsRead, len(stores))
	room := make(chan struct{}, depthsAtOnce)
	var wg sync.WaitGroup
	for i, store := range stores {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			read[i].Depths, read[i].Err = store.Depths(ctx)
		})
	}
	wg.Wait()
	return read
}

// waiting returns for how long a list's text has waited by its job's created_at, 0 where that is no time of this age. A
// list has no other: and it is a producer's clock.
func (s *Store) waiting(text string, now ServerTime) time.Duration {
	job, _, err := newWire(s.opts).job(text)
	if err != nil {
		return 0
	}
	created, err := strconv.ParseFloat(job.CreatedAt(), 64)
	if millis := float64(now)/1000 - created*1000; err == nil && millis > 0 && millis < plausible {
		return time.Duration(millis * float64(time.Millisecond))
	}
	return 0
}
