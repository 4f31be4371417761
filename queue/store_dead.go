package queue

import (
	"context"
	"fmt"

	"sidecar/compat"
)

// DeadJob is what is known of a job in dead.
type DeadJob struct {
	Text   string // as it stands there: a dead record, in profile list the job's text
	Job    string // the job's text, unwrapped; it need not be one that parses
	UUID   string
	Type   string // profile list only
	Tries  int    // how often it had failed when it was popped for its last run
	Error  string
	Trace  string
	At     string // as compat.FormatAt writes it
	Reason bool   // Error, Trace and At are known: they are not of a list's letter that the old worker wrote
}

// deadPage is how many texts of dead are read at once.
const deadPage = 100

// Dead returns up to limit jobs of dead, the newest first. Of a dead letter list that several lists share it returns those
// that are this list's. A record that holds no job has only its Text.
func (s *Store) Dead(ctx context.Context, limit int) ([]DeadJob, error) {
	if s.opts.List != nil {
		return s.deadLetters(ctx, limit)
	}
	records, err := s.rdb.LRange(ctx, s.keys.dead, -int64(limit), -1).Result()
	if err != nil || limit < 1 {
		return nil, s.readDead(ctx, err)
	}
	jobs := make([]DeadJob, 0, len(records))
	for i := range records {
		jobs = append(jobs, s.wire().deadRecord(records[len(records)-1-i]))
	}
	return jobs, nil
}

func (s *Store) readDead(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read dead of %s: %w", s.opts.Topic, s.explain(ctx, err))
}

func (w wire) deadRecord(stored string) DeadJob {
	d := DeadJob{Text: stored}
	text, _, err := w.unwrap(stored)
	if err != nil {
		return d
	}
	record, err := compat.ParseDeadRecord(text)
	if err != nil {
		return d
	}
	d.Job, d.Error, d.Trace, d.At, d.Reason = record.Job, record.Error, record.Trace, record.At, true
	if job, _, err := w.job(record.Job); err == nil {
		d.Job, d.UUID, d.Tries = job.Raw(), job.UUID(), job.Tries()
	}
	return d
}

// deadLetters is Dead for a list.
func (s *Store) deadLetters(ctx context.Context, limit int) (jobs []DeadJob, err error) {
	reasons := s.newReasons()
	for at := int64(0); len(jobs) < limit; at += deadPage {
		page, err := s.rdb.LRange(ctx, s.keys.dead, at, at+deadPage-1).Result()
		if err != nil || len(page) == 0 {
			return jobs, s.readDead(ctx, err)
		}
		for _, letter := range page {
			d, err := s.deadLetter(ctx, letter, reasons)
			if err != nil {
				return jobs, err
			}
			if d != nil && len(jobs) < limit {
				jobs = append(jobs, *d)
			}
		}
	}
	return jobs, nil
}

// deadLetter says what is known of a letter, nil when it is another list's.
func (s *Store) deadLetter(ctx context.Context, letter string, reasons *reasons) (*DeadJob, error) {
	d := &DeadJob{Text: letter, Job: letter}
	if job, _, err := s.wire().job(letter); err == nil {
		d.Job, d.UUID, d.Type, d.Tries = job.Raw(), job.UUID(), job.Type(), job.Tries()
	}
	why, known, err := reasons.of(ctx, letter)
	if err != nil {
		return nil, err
	}
	if known {
		d.Error, d.Trace, d.At, d.Reason = why.Error, why.Trace, why.At, true
		if why.List != s.opts.List.Key {
			return nil, nil
		}
		return d, nil
	}
	if !s.opts.List.owns(d.Type) {
		return nil, nil
	}
	return d, nil
}

func (s *Store) wire() wire { return newWire(s.opts) }
