package faults

// contest is one fault done to the old consumer, and to the sidecar.
type contest struct{}
