package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"sidecar/internal/dash"
	"sidecar/internal/sse"
)

// sight is one look at all there is, as streams send it. It is encoded once, however many there are.
type sight struct {
	at     time.Time
	events []event
	err    error
}

// event is one event of a sight.
type event struct {
	topic    string // "" = the overview
	compared []byte // what must differ for it to be news
	text     []byte // as it is sent
}

// look returns what all streams show now: a sight that another one has just had, or a new one.
func (a *api) look(ctx context.Context) *sight {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last != nil && time.Since(a.last.at) < a.every/2 {
		return a.last
	}
	o, err := a.source.Overview(context.WithoutCancel(ctx))
	a.last = &sight{err: err}
	if err == nil {
		a.last.events, a.last.err = eventsOf(o)
	}
	a.last.at = time.Now()
	return a.last
}

func eventsOf(o dash.Overview) (events []event, err error) {
	for _, topic := range o.Topics {
		text, err := json.Marshal(topic)
		if err != nil {
			return nil, fmt.Errorf("event topic: %w", err)
		}
		events = append(events, event{topic.Name, text, sse.Event("topic", text)})
	}
	o.Topics, o.Minutes = nil, nil
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("event overview: %w", err)
	}
	o.Now, o.Redis.Latency = time.Time{}, 0 // they change with every look, and alone are no news
	compared, err := json.Marshal(o)
	return append(events, event{"", compared, sse.Event("overview", text)}), err
}
