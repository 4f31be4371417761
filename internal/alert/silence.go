package alert

import (
	"context"
	"errors"
	"time"

	"sidecar/queue"
)

// Mute has nobody told of the alarms of name, a rule, topic or pool, for so long; 0 ends a silence. It returns until when.
// by is who wants it.
func Mute(ctx context.Context, l Ledger, name string, d time.Duration, by string) (until time.Time, err error) {
	for range 5 { // several may change it at once
		now, err := l.Now(ctx)
		if err != nil {
			return time.Time{}, err
		}
		fields, err := l.Read(ctx, queue.AlertSilences)
		if err != nil {
			return time.Time{}, err
		}
		until, next := now.Add(d), ""
		if d > 0 {
			next = encode(queue.Silence{Until: until, Since: now, By: by})
		}
		if fields[name] == next {
			return until, nil
		}
		if done, err := l.Swap(ctx, queue.AlertSilences, name, fields[name], next); done || err != nil {
			return until, err
		}
	}
	return time.Time{}, errors.New("somebody else keeps changing it")
}
