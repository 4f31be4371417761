package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidecar/internal/dash"
	"sidecar/queue"
)

// healthEvery is how often the servers of Redis are asked how they stand while somebody looks.
const healthEvery = 10 * time.Second

// memory is what the servers of Redis say of themselves: of several the one that is fullest.
type memory struct {
	at        time.Time // monotonic
	version   string
	policy    string // maxmemory-policy
	run       string // which of their lives this is, of all servers; "" where one does not say
	used, max int64
}

// readMemory asks the servers, unless what is known is young. Where nobody says anything the last that is known stays.
func readMemory(ctx context.Context, servers *queue.Servers, last memory) memory {
	if servers == nil || !last.at.IsZero() && time.Since(last.at) < healthEvery {
		return last
	}
	var m memory
	var runs []string
	for _, h := range servers.Health(ctx) { // which waits for a second at most
		runs = append(runs, h.Run())
		used, known := h.Number("used_memory")
		if !h.Up || !known {
			continue
		}
		limit, _ := h.Number("maxmemory")
		if m.version == "" || used*float64(max(m.max, 1)) > float64(m.used)*max(limit, 1) {
			m = memory{version: h.Version(), policy: h.Policy(), used: int64(used), max: int64(limit)}
		}
	}
	if m.version == "" && m.used == 0 {
		m = last
	}
	m.run = ""
	if slices.Sort(runs); !slices.Contains(runs, "") {
		m.run = strings.Join(runs, " ")
	}
	m.at = time.Now()
	return m
}

func redisOf(round depthsRound) dash.Redis {
	r := dash.Redis{
		Up: round.err == nil && !round.at.IsZero(), Latency: dash.Seconds(round.took.Seconds()),
		Version: round.memory.version, UsedBytes: round.memory.used, MaxBytes: round.memory.max, Policy: round.memory.policy,
	}
	if round.err != nil {
		r.Error = fmt.Sprintf("%v; numbers are the last that are known", round.err)
	}
	return r
}
