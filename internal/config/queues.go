package config

import "sidecar/queue"

// Queues returns the queue's part of all topics, lists included, in their order.
func (c *Config) Queues() []queue.Options {
	all := make([]queue.Options, 0, len(c.Topics))
	for _, t := range c.Topics {
		all = append(all, t.Queue)
	}
	return all
}
