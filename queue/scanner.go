package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Scanner promotes due texts and takes back claims whose lease has ended. One a topic is enough: it
// sleeps until the next text is due and goes on at once while batches are full.
type Scanner struct {
	store   *Store
	brake   *brake
	batch   int
	unit    ScoreUnit
	wake    <-chan struct{} // the pool has changed, as Redis tells us
	hint    chan<- struct{} // cap 1: ready has something
	rhythm  rhythm
	at      *station
	expiry  *expiry
	clock   *serverClock
	due     *dueTimes
	metrics *topicMetrics
	trouble *trouble
	log     *slog.Logger

	incidents *Incidents
	topic     string

	pressed bool // the last promotion found ready full. Only used by Run's goroutine
	warned  bool // of scores in another unit. Only used by Run's goroutine

	mu       sync.Mutex // guards what follows
	lastScan time.Time
}

// Run scans until take is done.
func (s *Scanner) Run(take context.Context) {
	again := backoff{most: time.Second}
	for take.Err() == nil {
		s.at.at(promoting)
		asked := time.Now()
		still, changed := s.brake.still()
		p, err := s.scanOnce(take, still)
		s.trouble.note(take, err)
		if err != nil {
			s.expiry.outage()
			s.at.at(backingOff)
			again.wait(take)
			continue
		}
		again.reset()
		answered := time.Now()
		s.expiry.answered(answered.Sub(asked))
		s.lookForExpired(take)
		switch {
		case still:
			s.restStill(take, changed)
		case p.Promoted < s.batch:
			s.rest(take, p, answered)
		}
	}
}

// scanOnce promotes one batch, or nothing while the topic is to be still.
func (s *Scanner) scanOnce(ctx context.Context, still bool) (Promotion, error) {
	asked := time.Now()
	promote := s.store.Promote
	if still {
		promote = s.store.promoteNone
	}
	p, err := promote(ctx)
	if err != nil {
		return p, err
	}
	s.clock.set(p.Now, asked)
	s.due.add(p.Due)
	if p.Promoted > 0 {
		s.metrics.promoted.Add(float64(p.Promoted))
		select {
		case s.hint <- struct{}{}:
		default:
		}
	}
	s.notePressure(ctx, p.Backpressure)
	s.noteUnit(ctx, p)
	s.mu.Lock()
	s.lastScan = time.Now()
	s.mu.Unlock()
	return p, nil
}

// stillGap is how often a topic is looked at that is to be still: whether Redis answers, and for expired claims.
const stillGap = time.Second

// restStill waits until it is time to look again, or what holds the topic has changed.
func (s *Scanner) restStill(take context.Context, changed <-chan struct{}) {
	s.at.at(resting)
	awaitChange(take, changed, spread(stillGap))
}

// rest waits until the next text is due, the pool changes, or the poll. Expired claims are looked for meanwhile.
func (s *Scanner) rest(take context.Context, p Promotion, answered time.Time) {
	until := answered.Add(s.untilDue(p))
	wake := s.wake
	if p.Backpressure {
		wake = nil // whatever comes into the pool, it cannot move
	}
	for {
		s.at.at(resting)
		timer := time.NewTimer(min(time.Until(until), s.expiry.wait()))
		select {
		case <-take.Done():
			timer.Stop()
			return
		case <-wake:
			timer.Stop()
			pause(take, min(time.Until(until), wakeGap-time.Since(answered)))
			return
		case <-timer.C:
			if time.Until(until) <= 0 {
				return
			}
			s.lookForExpired(take)
		}
	}
}

func (s *Scanner) lookForExpired(take context.Context) {
	s.at.at(lookingForExpired)
	s.expiry.lookIfTime(take)
}

// untilDue returns how long after p's reply the pool is to be looked at again. It reckons with Redis's
// clock alone: the reply's next due time minus the reply's now.
func (s *Scanner) untilDue(p Promotion) time.Duration {
	if p.Backpressure {
		return s.rhythm.scanInterval
	}
	wait := s.rhythm.poll()
	if !p.Next.IsZero() {
		wait = min(wait, max(p.Next.Sub(p.Now), dueGap))
	}
	return wait
}

// notePressure logs when backpressure begins and ends.
func (s *Scanner) notePressure(ctx context.Context, pressed bool) {
	if pressed {
		s.metrics.pressed.Inc()
	}
	s.metrics.backpressure.Set(float64(flag(pressed))) // also what another Scanner has left there
	if pressed == s.pressed {
		return
	}
	s.pressed = pressed
	if pressed {
		s.log.WarnContext(ctx, "ready is full, nothing is promoted until jobs are consumed")
		return
	}
	s.log.InfoContext(ctx, "ready has room again")
}

// noteUnit warns, once, of a producer whose scores are no times in the topic's unit, and keeps when that was last.
func (s *Scanner) noteUnit(ctx context.Context, p Promotion) {
	score := p.OldestScore
	looks := SuspectUnit(score, s.unit, p.Now)
	if looks == "" { // what runs is well; what waits may be so far ahead that nobody will see it run
		score = p.NextScore
		looks = SuspectUnit(score, s.unit, p.Now)
	}
	if looks == "" {
		return
	}
	s.incidents.Note(Incident{Kind: IncidentUnit, Topic: s.topic, Detail: looks})
	if !s.warned {
		s.warned = true
		s.log.WarnContext(ctx, "scores do not look like the topic's score_unit: jobs run too early, too late or never",
			"score", score, "score_unit", string(s.unit), "looks_like", looks)
	}
}

// last returns when the last promotion was answered.
func (s *Scanner) last() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastScan
}
