package queue

import "fmt"

// settled reads one entry of a settling script's reply: a Settlement's number, or the error with which Redis
// refused the new text.
func settled(entry any) SettleResult {
	switch v := entry.(type) {
	case int64:
		return SettleResult{Settlement: Settlement(v)}
	case string:
		return SettleResult{Err: refusal(v)}
	}
	return SettleResult{Err: fmt.Errorf("settle: want a number or a text from the script, got %T", entry)}
}

// refusal is the error text of a command that a script tried. FaultOf knows it as if it had come by itself.
type refusal string

// Error returns Redis's text.
func (r refusal) Error() string { return string(r) }

// RedisError marks it as a reply of Redis, as redis.Error asks.
func (refusal) RedisError() {}

// flag is a boolean as the scripts read it.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
