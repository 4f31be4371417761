package queue

import (
	"context"
	"fmt"
	"slices"

	"sidecar/compat"
)

// replayList is Replay for a list: it goes through its dead letters from the oldest on and puts up to limit of those that
// are this list's back into their shard, with retry_count at 0. What is no job stays where it is, unless raw asks for
// it. With dry it only reads.
func (s *Store) replayList(ctx context.Context, limit int, dry, raw bool) (done Replays, err error) {
	reasons := s.newReasons()
	for behind := int64(0); len(done.Replayed) < limit; {
		page, err := s.rdb.LRange(ctx, s.keys.dead, -behind-deadPage, -behind-1).Result()
		if err != nil || len(page) == 0 {
			return done, s.readDead(ctx, err)
		}
		slices.Reverse(page)
		for _, letter := range page {
			if len(done.Replayed) == limit {
				break
			}
			moved, err := s.replayLetter(ctx, letter, reasons, dry, raw, &done)
			if err != nil {
				return done, err
			}
			if !moved {
				behind++ // it stays between the tail and what is read next
			}
		}
	}
	return done, nil
}

// replayLetter replays one letter, if it is this list's and a job, and reports whether it has left dead.
func (s *Store) replayLetter(ctx context.Context, letter string, reasons *reasons, dry, raw bool, done *Replays) (moved bool, err error) {
	d, err := s.deadLetter(ctx, letter, reasons)
	if err != nil || d == nil {
		return false, err
	}
	back, ok := s.wire().replayed(letter, false)
	if !ok && !raw {
		done.NoJobs = append(done.NoJobs, letter)
		return false, nil
	}
	if !dry {
		if err := s.dropForeignAck(ctx, d.UUID); err != nil {
			return false, err
		}
		list := s.keys.ready[compat.Shard(d.UUID, s.opts.List.Shards)]
		reply, err := s.call(ctx, "replay", replayListScript, []string{s.keys.dead, list}, letter, back.stored)
		if err != nil {
			return false, err
		}
		if refused, ok := reply.(string); ok {
			return false, fmt.Errorf("replay %s: %w", s.opts.Topic, s.explain(ctx, refusal(refused)))
		}
		if reply != int64(1) {
			return true, nil // somebody else took it meanwhile
		}
	}
	done.Replayed = append(done.Replayed, back.text)
	return !dry, nil
}

// replayed returns what a dead letter is replayed as, with keep as it is; ok is false when it is no job.
func (w wire) replayed(letter string, keep bool) (r revival, ok bool) {
	job, form, err := w.job(letter)
	if err != nil {
		return revival{stored: letter, text: letter}, false
	}
	before := job
	if job.Tries() != 0 && !keep {
		job = job.WithTries(0)
	}
	if job.Crashes() != 0 && !keep {
		job = job.WithCrashes(0)
	}
	r = revival{stored: letter, text: job.Raw(), uuid: job.UUID()}
	if job != before {
		r.stored = wrap(job.Raw(), form)
	}
	return r, true
}
