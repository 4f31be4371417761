package compat

import (
	"strconv"
	"time"
)

// Created returns when a job of profile list was made by its own word (CONTRACT 2), in UTC; the zero time where it does not say, or nothing that
// would be seconds since the epoch in this age.
func (j Job) Created() time.Time {
	seconds, err := strconv.ParseFloat(j.CreatedAt(), 64)
	if err != nil || seconds < 1e8 || seconds > 1e10 {
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6)).UTC()
}

// ReplayedAt returns what a replay wrote into the job, as [FormatAt] writes it; "" when none did.
func (j Job) ReplayedAt() string {
	at := stringOf(j.value(replayedAtField))
	if _, err := time.Parse(time.DateTime, at); err != nil {
		return ""
	}
	return at
}
