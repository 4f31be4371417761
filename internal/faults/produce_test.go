package faults

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	backlog  = 400 // so many jobs due at most, so that there is work at every moment and an end of it
	perWrite = 50  // jobs, in one transaction
	spreadMS = 200 // a third of the jobs is due within so long, the others at once
)

// producer writes jobs as PHP shops do. It writes no job twice: when Redis has not said that it took a
// transaction, its jobs are not sure, and the next ones follow.
type producer struct {
	s       *shop
	rate    int // jobs a second at most; 0 = as many as keep the backlog
	backlog int // jobs due at most; 0 = any number

	mu      sync.Mutex
	written map[string]job // guarded by mu, by uuid
	sure    int            // guarded by mu: how many of them Redis has said it has
}

// count returns how many jobs Redis has said it has so far.
func (p *producer) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sure
}

// all returns what was written, by uuid.
func (p *producer) all() map[string]job {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.written)
}

// run writes jobs until ctx ends. While Redis is away it waits.
func (p *producer) run(ctx context.Context) {
	begin, first := time.Now(), p.count()
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for {
		if p.wanted(ctx, first, begin) {
			p.write(ctx, perWrite)
		}
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

func (p *producer) wanted(ctx context.Context, first int, begin time.Time) bool {
	if p.rate > 0 && float64(p.count()-first) >= time.Since(begin).Seconds()*float64(p.rate) {
		return false
	}
	if p.backlog == 0 {
		return true
	}
	depth, err := p.s.depths(ctx)
	return err == nil && depth < int64(p.backlog)
}

// write writes the next n jobs in one transaction.
func (p *producer) write(ctx context.Context, n int) {
	now, err := p.s.redisNow(ctx)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	pipe := p.s.rdb.TxPipeline()
	jobs := make([]job, 0, n)
	adds := make([]*redis.IntCmd, 0, n)
	for i := len(p.written); i < cap(jobs)+len(p.written); i++ {
		j, text := newJob(i)
		due := now
		if i%3 == 0 {
			due += int64(i * 31 % spreadMS)
		}
		jobs = append(jobs, j)
		adds = append(adds, j.push(ctx, pipe, float64(due), text))
	}
	_, err = pipe.Exec(ctx)
	for i, j := range jobs {
		if j.sure = err == nil && adds[i].Err() == nil; j.sure {
			p.sure++
		}
		p.written[j.uuid] = j
	}
}

// redisNow is the server's time in milliseconds: due times are Redis TIME.
func (s *shop) redisNow(ctx context.Context) (int64, error) {
	t, err := s.rdb.Do(ctx, "time").Int64Slice()
	if err != nil {
		return 0, err
	}
	if len(t) != 2 {
		return 0, fmt.Errorf("TIME: %v, want seconds and microseconds", t)
	}
	return t[0]*1000 + t[1]/1000, nil
}
