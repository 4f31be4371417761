package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidecar/compat"
	"sidecar/compat/encoding"
)

// replayTries bounds how often a head of dead is read again because somebody else took it meanwhile.
const replayTries = 10

// Replay takes up to limit records from the head of dead and puts their jobs into the pool, due now, with retry 0
// and replayed_at in loc (CONTRACT 1.5): each is edited here and swapped in one step. A record that holds no job, or one
// that cannot run, since its text is no JSON object, goes to the tail and counts too, so that one call ends. With dry it
// only reads. In profile list it goes through the dead letters, and what is not to be replayed stays where it is.
func (s *Store) Replay(ctx context.Context, limit int, dry bool, loc *time.Location) (Replays, error) {
	return s.replay(ctx, limit, dry, false, loc)
}

// ReplayRaw is Replay for those, too, who want the bytes of a text that is no job back in the pool.
func (s *Store) ReplayRaw(ctx context.Context, limit int, dry bool, loc *time.Location) (Replays, error) {
	return s.replay(ctx, limit, dry, true, loc)
}

func (s *Store) replay(ctx context.Context, limit int, dry, raw bool, loc *time.Location) (Replays, error) {
	if s.opts.List != nil {
		return s.replayList(ctx, limit, dry, raw)
	}
	if dry {
		return s.replayDry(ctx, limit, raw, loc)
	}
	length, err := s.rdb.LLen(ctx, s.keys.dead).Result()
	if err != nil {
		return Replays{}, fmt.Errorf("replay %s: %w", s.opts.Topic, s.explain(ctx, err))
	}
	var done Replays
	for range min(int64(limit), length) {
		more, err := s.replayHead(ctx, raw, loc, &done)
		if err != nil || !more {
			return done, err
		}
	}
	return done, nil
}

// replayHead moves the record at the head of dead and notes it in done. more is false when dead is empty.
func (s *Store) replayHead(ctx context.Context, raw bool, loc *time.Location, done *Replays) (more bool, err error) {
	for range replayTries {
		head, err := s.rdb.LRange(ctx, s.keys.dead, 0, 0).Result()
		if err != nil {
			return false, fmt.Errorf("replay %s: %w", s.opts.Topic, s.explain(ctx, err))
		}
		if len(head) == 0 {
			return false, nil
		}
		moved, err := s.replayRecord(ctx, head[0], raw, loc, done)
		if err != nil || moved {
			return moved, err
		}
	}
	return false, fmt.Errorf("replay %s: the head of dead changes all the time, somebody else replays it", s.opts.Topic)
}

// replayRecord moves the record, if it is still the head of dead: to the pool, or to the tail when it holds no job that can run.
func (s *Store) replayRecord(ctx context.Context, record string, raw bool, loc *time.Location, done *Replays) (moved bool, err error) {
	now, err := s.rdb.Time(ctx).Result()
	if err != nil {
		return false, fmt.Errorf("replay %s: %w", s.opts.Topic, err)
	}
	back, left := s.wire().replayText(record, compat.FormatAt(now, loc), ReplayOptions{Raw: raw})
	if left != nil {
		reply, err := s.call(ctx, "replay", setAsideScript, []string{s.keys.dead}, record)
		if moved = reply == int64(1); moved {
			done.leave(record, left)
		}
		return moved, err
	}
	keys, _ := s.withMark([]string{s.keys.dead, s.keys.pool}, back.uuid)
	reply, err := s.call(ctx, "replay", replayScript, keys, record, back.stored, s.unit, markDone)
	if moved = reply == int64(1); moved {
		done.Replayed = append(done.Replayed, back.text)
	}
	return moved, err
}

// replayDry tells what Replay would do now.
func (s *Store) replayDry(ctx context.Context, limit int, raw bool, loc *time.Location) (Replays, error) {
	if limit < 1 {
		return Replays{}, nil
	}
	records, err := s.rdb.LRange(ctx, s.keys.dead, 0, int64(limit)-1).Result()
	if err != nil {
		return Replays{}, fmt.Errorf("replay %s: %w", s.opts.Topic, s.explain(ctx, err))
	}
	now, err := s.rdb.Time(ctx).Result()
	if err != nil {
		return Replays{}, fmt.Errorf("replay %s: %w", s.opts.Topic, err)
	}
	var would Replays
	for _, record := range records {
		back, left := s.wire().replayText(record, compat.FormatAt(now, loc), ReplayOptions{Raw: raw})
		if left != nil {
			would.leave(record, left)
			continue
		}
		would.Replayed = append(would.Replayed, back.text)
	}
	return would, nil
}

// errNoJob is why a record is left in dead whose text would only come back to it.
var errNoJob = errors.New("the record's text is no job")

// revival is what a job of dead is replayed as.
type revival struct {
	stored string // what goes back
	text   string // the text in it
	uuid   string
}

// replayText returns what a dead record is replayed as. One whose text is no job is replayed with Raw only. The text keeps
// its form: the record's, or its own where the record holds it as bytes, as it does from times before encoding = "auto".
func (w wire) replayText(record, at string, o ReplayOptions) (revival, error) {
	text, form, err := w.unwrap(record)
	if err != nil {
		return revival{}, err
	}
	r, err := compat.ParseDeadRecord(text)
	if err != nil {
		return revival{}, err
	}
	bytes := r.Job
	if text, own, err := w.unwrap(bytes); err == nil && own != (encoding.Form{}) {
		r.Job, form = text, own
	}
	job, err := compat.ParseJob(r.Job)
	switch {
	case err == nil:
		text = r.ReplayText(at)
		if o.KeepRetry {
			text = job.WithReplayedAt(at).Raw()
		}
		return revival{stored: wrap(text, form), text: text, uuid: job.UUID()}, nil
	case o.Raw:
		return revival{stored: bytes, text: bytes}, nil
	}
	return revival{}, errNoJob
}

// leave notes a record that stays in dead.
func (r *Replays) leave(record string, why error) {
	if errors.Is(why, errNoJob) {
		r.NoJobs = append(r.NoJobs, record)
		return
	}
	r.Unreadable = append(r.Unreadable, record)
}
