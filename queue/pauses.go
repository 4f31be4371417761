package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// pausesMost bounds what is read at once: far more than there are topics, and no work for Redis.
	pausesMost = 2000

	// LongestPause is how long a pause may be asked for; without an end it may last for ever.
	LongestPause = 366 * 24 * time.Hour
)

// ErrPauseLength reports a pause that is to last for no time, or for ages.
var ErrPauseLength = errors.New("want more than nothing and at most a year")

// Pauses are the pauses of topics that all sidecars of one Redis share: the hash sidecar:paused, a field a topic. A
// pause that has ended is none, wherever it still lies.
type Pauses struct {
	rdb redis.UniversalClient
	key string
}

// NewPauses returns the pauses of a Redis. prefix stands before every key.
func NewPauses(rdb redis.UniversalClient, prefix string) *Pauses {
	return &Pauses{rdb: rdb, key: prefix + "sidecar:paused"}
}

// Set pauses a topic, whether or not it is paused, and returns the pause. It lasts from now by Redis's clock; 0 is until
// it is taken back.
func (p *Pauses) Set(ctx context.Context, topic string, lasts time.Duration, by, reason string) (Pause, error) {
	if lasts < 0 || lasts > LongestPause {
		return Pause{}, fmt.Errorf("pause %s for %s: %w", topic, lasts, ErrPauseLength)
	}
	_, now, err := p.read(ctx)
	if err != nil {
		return Pause{}, fmt.Errorf("pause %s: %w", topic, err)
	}
	pause := newPause(now, lasts, by, reason)
	if _, _, err := p.put(ctx, topic, pause.text(), ""); err != nil {
		return Pause{}, fmt.Errorf("pause %s: %w", topic, err)
	}
	return pause, nil
}

// Clear takes the pause of a topic back and returns it; false when there was none.
func (p *Pauses) Clear(ctx context.Context, topic string) (Pause, bool, error) {
	_, now, err := p.read(ctx)
	if err != nil {
		return Pause{}, false, fmt.Errorf("resume %s: %w", topic, err)
	}
	before, found, err := p.put(ctx, topic, "", "")
	if err != nil {
		return Pause{}, false, fmt.Errorf("resume %s: %w", topic, err)
	}
	was := readPause(before)
	return was, found && !was.Over(now), nil
}

// All returns the pauses that are on, by topic, and Redis's time. It takes away those that have ended.
func (p *Pauses) All(ctx context.Context) (map[string]Pause, time.Time, error) {
	texts, now, err := p.read(ctx)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read the pauses: %w", err)
	}
	pauses := make(map[string]Pause, len(texts))
	for topic, text := range texts {
		if pause := readPause(text); !pause.Over(now) {
			pauses[topic] = pause
			continue
		}
		// Only this one, and not what may have come in its place. Whether it works does not matter: it is over.
		_, _, _ = p.put(ctx, topic, "", text)
	}
	return pauses, now, nil
}

// read returns all that lies there, by topic, and Redis's time.
func (p *Pauses) read(ctx context.Context) (map[string]string, time.Time, error) {
	reply, err := pausedScript.run(ctx, p.rdb, []string{p.key}, pausesMost)
	if err != nil {
		return nil, time.Time{}, explainType(ctx, p.rdb, p.key, "hash", err)
	}
	list, _ := reply.([]any)
	r := replies(list)
	if n := r.number(1); n > pausesMost {
		return nil, time.Time{}, fmt.Errorf("%s has %d fields, want at most %d: it holds something else than pauses", p.key, n, pausesMost)
	}
	texts := make(map[string]string)
	for i := 2; i+1 < len(r); i += 2 {
		texts[r.text(i)] = r.text(i + 1)
	}
	return texts, r.time(0).In(time.UTC), nil
}

// put writes the pause of a topic, "" for none, and returns what was there, if something was. With seen it does so only in
// the place of that.
func (p *Pauses) put(ctx context.Context, topic, text, seen string) (before string, found bool, err error) {
	reply, err := pauseScript.run(ctx, p.rdb, []string{p.key}, topic, text, seen)
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	before, found = reply.(string)
	return before, found, err
}
