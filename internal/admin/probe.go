package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sidecar/queue"
)

const (
	// slowAfter is what the old probe calls a slow Redis (CONTRACT 2).
	slowAfter = time.Second

	// answerWithin is a little more, so that what comes just too late is told with its time and not as a silence.
	answerWithin = 1200 * time.Millisecond
)

// Reader reads how many jobs lie in the keys of a list. A [queue.Store] does.
type Reader interface {
	Depths(ctx context.Context) (queue.Depths, error)
}

// Lists returns the lists that are configured now, each by its table's name and by its key. Nil is: not known yet.
type Lists func() map[string]Reader

// listProbe answers GET /probe?queue=… as the probe of the old list worker does (CONTRACT 2): the lengths of a list
// and of its dead letter list and the time that Redis took to tell them; 503 when that was too long, or when it did not.
// A length that is not known is never 0. It reads no keys but those that are configured.
type listProbe struct {
	lists Lists

	mu       sync.Mutex
	underWay map[Reader]*reading // guarded by mu
}

// reading is one look at a list's keys. It is shared by all who ask while it is under way: whoever asks again and again
// while Redis hangs takes no connection but one.
type reading struct {
	began  time.Time
	done   chan struct{} // closed when what follows is known
	took   time.Duration
	depths queue.Depths
	err    error
}

// listDepths is the answer. Its JSON names are the old probe's.
type listDepths struct {
	QueueLength      int64 `json:"queue_length"`
	DeadLetterLength int64 `json:"dead_letter_length"`
	RedisLatencyMS   int64 `json:"redis_latency_ms"` // rounded to whole ones, as PHP's round does
}

// listFault is the answer when there is none. Its JSON names and "unhealthy" are the old probe's, too.
type listFault struct {
	Status string `json:"status"`
	Reason string `json:"reason"`
}

func newListProbe(lists Lists) *listProbe {
	return &listProbe{lists: lists, underWay: make(map[Reader]*reading)}
}

// ServeHTTP implements http.Handler.
func (p *listProbe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lists := p.lists()
	if lists == nil {
		unhealthy(w, "starting")
		return
	}
	name := r.URL.Query().Get("queue")
	list, ok := lists[name]
	if !ok {
		known := "none is configured"
		if len(lists) > 0 {
			known = "want one of " + strings.Join(slices.Sorted(maps.Keys(lists)), ", ")
		}
		writeJSON(w, http.StatusNotFound, listFault{"unknown", fmt.Sprintf("queue = %q is no list of the configuration: %s", name, known)})
		return
	}
	look := p.read(r.Context(), list)
	late := time.NewTimer(answerWithin - time.Since(look.began))
	defer late.Stop()
	select {
	case <-look.done:
		look.answer(w)
	case <-late.C:
		unhealthy(w, fmt.Sprintf("redis slow or down: no answer for %s", time.Since(look.began).Round(time.Millisecond)))
	case <-r.Context().Done():
	}
}

// read returns the look at the list that is under way, or a new one. That is not only for the one who asked first: it
// ends with the Redis client's own timeouts at the latest.
func (p *listProbe) read(ctx context.Context, list Reader) *reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	if look := p.underWay[list]; look != nil {
		return look
	}
	look := &reading{began: time.Now(), done: make(chan struct{})}
	p.underWay[list] = look
	go func() {
		defer close(look.done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
		defer cancel()
		look.depths, look.err = list.Depths(ctx)
		look.took = time.Since(look.began)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.underWay, list)
	}()
	return look
}

func (l *reading) answer(w http.ResponseWriter) {
	switch {
	case l.err != nil:
		unhealthy(w, fmt.Sprintf("redis slow or down: %v", l.err))
	case l.took > slowAfter:
		unhealthy(w, fmt.Sprintf("redis slow or down: it took %s, want %s at most", l.took.Round(time.Millisecond), slowAfter))
	default:
		writeJSON(w, http.StatusOK, listDepths{
			QueueLength:      l.depths.Ready,
			DeadLetterLength: l.depths.Dead,
			RedisLatencyMS:   l.took.Round(time.Millisecond).Milliseconds(),
		})
	}
}

func unhealthy(w http.ResponseWriter, reason string) {
	writeJSON(w, http.StatusServiceUnavailable, listFault{"unhealthy", reason})
}
