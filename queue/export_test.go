package queue

import "time"

// SetWakerPing shortens the silences after which w asks whether its connection still stands.
func SetWakerPing(w *Waker, ping, pong time.Duration) { w.ping, w.pong = ping, pong }

// Unit returns the unit of the scores in the topic's pool.
func (s *Store) Unit() ScoreUnit { return s.opts.ScoreUnit }

// SetLoopPatience shortens how long c waits for loops that are to end. Call it before Run.
func SetLoopPatience(c *Consumer, d time.Duration) {
	c.patience = d
	c.current().patience = d
}

// ReasonText returns the reason why text is dead as the topic writes it.
func ReasonText(list, text, why string) string {
	return reason{List: list, JobID: "x", Error: why, At: "2026-01-02 03:04:05"}.text(text)
}

// SetNearEnd shortens how far from an end of a list a text is taken out by its value.
func SetNearEnd(s *Store, n int64) { s.nearEnd = n }

// Cursor is how far a Search has come.
func Cursor(c Found) (at int64, restarts int) {
	read, _ := parseCursor(c.Cursor)
	return read.At, read.Restarts
}
