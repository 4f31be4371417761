package app

import (
	"fmt"

	"sidecar/internal/plural"
	"sidecar/queue"
)

// outage is what a whole Redis does not do, so that readiness says it once and not for every topic and step.
type outage struct {
	faults []queue.Fault // in the order they were met
	errs   map[queue.Fault]error
	topics map[queue.Fault]map[string]bool // that have met it
}

// takes reports whether err is the server's and not the topic's own, and keeps it then.
func (o *outage) takes(topic string, err error) bool {
	fault := queue.FaultOf(err)
	if !fault.OfServer() {
		return false
	}
	if o.errs == nil {
		o.errs, o.topics = make(map[queue.Fault]error), make(map[queue.Fault]map[string]bool)
	}
	if o.errs[fault] == nil {
		o.faults = append(o.faults, fault)
		o.errs[fault], o.topics[fault] = err, make(map[string]bool)
	}
	o.topics[fault][topic] = true
	return true
}

// reasons returns one for each fault.
func (o *outage) reasons() (list []string) {
	for _, fault := range o.faults {
		reason := fmt.Sprintf("redis: %v", o.errs[fault])
		if n := len(o.topics[fault]); n > 1 {
			reason += fmt.Sprintf(" (and %s)", plural.Of(n-1, "more topic", "more topics"))
		}
		list = append(list, reason)
	}
	return list
}
