package queue

import "sidecar/compat"

// keys are a topic's keys by what they are for, whatever its profile.
type keys struct {
	pool, running, dead string
	ready               []string // of a list with shards several
	reasons             string   // profile list only
	moved               string   // which moves of single dead jobs were made

	mark func(uuid string) string // an idempotency mark, in profile list an ack
}

// keysOf returns the keys of the topic in opts. prefix stands before every key.
func keysOf(prefix string, opts Options) keys {
	if l := opts.List; l != nil {
		k := compat.NewListKeys(prefix, l.Key, l.Dead, l.Shards)
		return keys{pool: k.Pool, running: k.Running, dead: k.Dead, ready: k.Lists, reasons: k.Reasons, moved: k.Moved, mark: k.Ack}
	}
	k := compat.NewDelayKeys(prefix, opts.Topic)
	return keys{pool: k.Pool, running: k.Running, dead: k.Dead, ready: []string{k.Ready}, moved: k.Moved, mark: k.Idem}
}

// KeysAt returns the keys in which the topic's jobs of a place lie: one, but of a list's ready those of its shards, by their numbers, and the list that had
// none behind them. prefix stands before every key.
func (o Options) KeysAt(prefix string, place Place) []string { return keysOf(prefix, o).at(place) }

// roles are the keys that hold jobs.
func (k keys) roles() []string { return append([]string{k.pool, k.running, k.dead}, k.ready...) }

// OutsideSlot returns two of the topic's keys that are not in one slot of a Cluster, so that no script can move a job
// between them; "" when all are in one.
func (o Options) OutsideSlot(prefix string) (one, other string) {
	if l := o.List; l != nil {
		k := compat.NewListKeys(prefix, l.Key, l.Dead, l.Shards)
		one, other = k.Lists[0], k.OutsideSlot()
	} else {
		k := compat.NewDelayKeys(prefix, o.Topic)
		one, other = k.Pool, k.OutsideSlot()
	}
	if other == "" {
		return "", ""
	}
	return one, other
}
