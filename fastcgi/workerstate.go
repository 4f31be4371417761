package fastcgi

// workerState is what a resident worker is doing.
type workerState int

// The states.
const (
	starting workerState = iota + 1
	idle
	busy
	leaving
)

func workerStates() []workerState { return []workerState{starting, idle, busy, leaving} }

func (s workerState) String() string {
	switch s {
	case starting:
		return "starting"
	case idle:
		return "idle"
	case busy:
		return "busy"
	case leaving:
		return "leaving"
	}
	return "unknown"
}
