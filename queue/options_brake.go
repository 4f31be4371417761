package queue

import (
	"errors"
	"fmt"
	"time"
)

const (
	leastBreaker = 2           // one failure is no row
	leastProbe   = time.Second // a job of those that fail is spent with each
)

// validateBrake reports what is wrong with the options that hold a topic back.
func (o Options) validateBrake() error {
	errs := []error{validateWindows(o.PauseWindows)}
	if o.Breaker < 0 || o.Breaker > 0 && o.Breaker < leastBreaker {
		errs = append(errs, fmt.Errorf("breaker = %d: want at least %d equal failures in a row, or 0 for no breaker", o.Breaker, leastBreaker))
	}
	if o.Breaker > 0 && o.BreakerProbe < leastProbe {
		errs = append(errs, fmt.Errorf("breaker_probe = %q: want at least %q", o.BreakerProbe, leastProbe))
	}
	return errors.Join(errs...)
}
