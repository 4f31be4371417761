package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/internal/dash"
	"sidecar/queue"
)

// Topic implements dash.Source.
func (p *panel) Topic(ctx context.Context, name string) (dash.TopicView, error) {
	g, i, t, err := p.find(name)
	if err != nil {
		return dash.TopicView{}, err
	}
	round := p.round(ctx)
	cfg := g.cfg.Topics[i]
	return dash.TopicView{
		Now: p.now(round), Topic: p.topicOf(g, i, t, round, p.pulse.History()),
		Options: optionsOf(cfg), RedisAt: keysOf(g.cfg.Redis.KeyPrefix, cfg), Routes: routesOf(cfg.FPM.Routes),
	}, nil
}

// optionsOf are the options that say how a topic runs, first those that were set.
func optionsOf(cfg config.Topic) []dash.Option {
	plain := config.DefaultTopic()
	if cfg.Queue.List != nil {
		plain = config.DefaultList()
	}
	options := []dash.Option{
		option("fpm", cfg.Pool, plain.Pool),
		option("mode", cfg.FPM.Mode, plain.FPM.Mode),
		option("call", cfg.FPM.Call, plain.FPM.Call),
		option("script", cfg.FPM.Script, plain.FPM.Script),
		option("bootstrap", cfg.FPM.Bootstrap, plain.FPM.Bootstrap),
		option("workers", cfg.Queue.Workers, plain.Queue.Workers),
		option("weight", cfg.FPM.Weight, plain.FPM.Weight),
		option("timeout", cfg.FPM.Timeout, plain.FPM.Timeout),
		option("lease", cfg.Queue.Lease, plain.Queue.Lease),
		option("retry", config.WrittenAll(cfg.Queue.Retry, ", "), config.WrittenAll(plain.Queue.Retry, ", ")),
		option("max_crashes", cfg.Queue.MaxCrashes, plain.Queue.MaxCrashes),
		option("batch", cfg.Queue.Batch, plain.Queue.Batch),
		option("ready_max", cfg.Queue.ReadyMax, plain.Queue.ReadyMax),
		option("score_unit", cfg.Queue.ScoreUnit, plain.Queue.ScoreUnit),
		option("idempotency", cfg.Queue.Idempotency, plain.Queue.Idempotency),
		option("rate", cfg.Queue.Rate, plain.Queue.Rate),
		option("encoding", cfg.Queue.Encoding, plain.Queue.Encoding),
	}
	if list := cfg.Queue.List; list != nil {
		options = append(options,
			option("shards", list.Shards, plain.Queue.List.Shards),
			option("order", list.Order, plain.Queue.List.Order),
			option("max_retry", list.MaxRetry, plain.Queue.List.MaxRetry))
	}
	slices.SortStableFunc(options, func(x, y dash.Option) int {
		switch {
		case x.Default == y.Default:
			return 0
		case x.Default:
			return 1
		}
		return -1
	})
	return options
}

func option[T comparable](name string, value, plain T) dash.Option {
	text := fmt.Sprint(value)
	if d, ok := any(value).(time.Duration); ok {
		text = config.Written(d)
	}
	return dash.Option{Name: name, Value: text, Default: value == plain}
}

// keysOf are the keys of a topic that hold jobs, in the order in which a job goes through them.
func keysOf(prefix string, cfg config.Topic) (names []dash.KeyName) {
	for _, place := range queue.Places() {
		for _, key := range cfg.Queue.KeysAt(prefix, place) {
			names = append(names, dash.KeyName{Role: string(place), Key: key})
		}
	}
	return names
}

func routesOf(routes map[string]fastcgi.Target) (list []dash.Option) {
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		target := routes[name]
		value := target.Call
		if value == "" {
			value = target.Script
		}
		list = append(list, dash.Option{Name: name, Value: value})
	}
	return list
}
