package queue

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1; nothing is protected by it
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// luaFiles are all scripts there are, whoever runs them: the closed set of the label script.
//
//go:embed lua/*.lua
var luaFiles embed.FS

// A script call is one round trip, so the buckets begin where a unix socket's answer is found and end at readTimeout.
var scriptBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5, 1, 5}

// scriptTimes counts and times the script calls of the clients it is hooked into. It is read only once it is made, so that it costs
// a call two looks at the clock and one in a map.
type scriptTimes struct {
	duration *prometheus.HistogramVec       // script
	byText   map[string]prometheus.Observer // by a script's SHA-1, and by its text
}

// newScriptTimes makes the series of all scripts.
func newScriptTimes(duration *prometheus.HistogramVec) *scriptTimes {
	c := &scriptTimes{duration: duration, byText: make(map[string]prometheus.Observer)}
	entries, err := luaFiles.ReadDir("lua")
	if err != nil {
		panic(fmt.Sprintf("queue: embedded scripts: %v", err))
	}
	for _, entry := range entries {
		source, err := luaFiles.ReadFile("lua/" + entry.Name())
		if err != nil {
			panic(fmt.Sprintf("queue: embedded script: %v", err))
		}
		series := duration.WithLabelValues(strings.TrimSuffix(entry.Name(), ".lua"))
		sum := sha1.Sum(source) //nolint:gosec // as above
		c.byText[hex.EncodeToString(sum[:])] = series
		c.byText[string(source)] = series
	}
	return c
}

// Watch counts the script calls that rdb makes from now on. Call it before the client is used; of a Cluster's client its
// nodes are watched, since scripts go to them.
func (m *Metrics) Watch(rdb redis.UniversalClient) {
	switch c := rdb.(type) {
	case *redis.ClusterClient:
		c.OnNewNode(func(node *redis.Client) { node.AddHook(m.scripts) })
	case *redis.Client:
		c.AddHook(m.scripts)
	}
}

// DialHook implements redis.Hook.
func (c *scriptTimes) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements redis.Hook. No script is sent in a pipeline, but where a Cluster moves a slot.
func (c *scriptTimes) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook.
func (c *scriptTimes) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		series := c.of(cmd)
		if series == nil {
			return next(ctx, cmd)
		}
		sent := time.Now()
		err := next(ctx, cmd)
		if FaultOf(err) != NoScript { // which ran nothing: its text is sent next
			series.Observe(time.Since(sent).Seconds())
		}
		return err
	}
}

// of returns the series of the script that cmd runs, or nil.
func (c *scriptTimes) of(cmd redis.Cmder) prometheus.Observer {
	args := cmd.Args()
	if len(args) < 2 {
		return nil
	}
	switch args[0] {
	case "evalsha", "eval":
		text, _ := args[1].(string)
		return c.byText[text]
	}
	return nil
}
