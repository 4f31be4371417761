package queue

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is how many jobs may start in how long; zero: as many as can.
type Rate struct {
	N   int
	Per time.Duration
}

// ratesMost bounds a rate's number: above it there is none to speak of.
const ratesMost = 1_000_000

var rateUnits = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}

var errRate = errors.New(`want a number of jobs for each second, minute or hour, such as "100/s", "300/m" or "50/h", or "" for no limit`)

// ParseRate reads "100/s", "300/m" or "50/h"; "" is no rate.
func ParseRate(text string) (Rate, error) {
	if text == "" {
		return Rate{}, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	per, known := rateUnits[strings.TrimSpace(unit)]
	if err != nil || !known || n < 1 || n > ratesMost {
		return Rate{}, errRate
	}
	return Rate{n, per}, nil
}

// String returns the rate as the configuration spells it.
func (r Rate) String() string {
	if r.IsZero() {
		return ""
	}
	for unit, per := range rateUnits {
		if per == r.Per {
			return fmt.Sprintf("%d/%s", r.N, unit)
		}
	}
	return fmt.Sprintf("%d in %s", r.N, r.Per)
}

// IsZero reports that there is no limit.
func (r Rate) IsZero() bool { return r.N == 0 }

// perSecond is the rate as tokens in a second.
func (r Rate) perSecond() float64 { return float64(r.N) / r.Per.Seconds() }
