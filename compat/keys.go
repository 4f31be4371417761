package compat

// DelayKeys are the keys of one topic as PHP writes them (CONTRACT 1). All of them, the idempotency
// marks included, stand under the same client-side prefix.
type DelayKeys struct {
	Pool    string // ZSET: job texts by due time
	Ready   string // LIST: job texts, RPUSH in, LPOP out
	Running string // ZSET: job texts by the end of their lease
	Dead    string // LIST: dead records, RPUSH in, LPOP out

	idem string // what stands before the uuid of a mark
}

// NewDelayKeys returns the keys of topic. prefix is the client-side one (phpredis OPT_PREFIX), or empty; the
// topic is interpolated as it is, braces and all.
func NewDelayKeys(prefix, topic string) DelayKeys {
	key := func(role string) string { return prefix + "delay:" + role + ":" + topic }
	return DelayKeys{
		Pool:    key("pool"),
		Ready:   key("ready"),
		Running: key("running"),
		Dead:    key("dead"),
		idem:    prefix + "idem:" + topic + ":",
	}
}

// Idem returns the key of the idempotency mark of uuid (CONTRACT 1.4).
func (k DelayKeys) Idem(uuid string) string { return k.idem + uuid }
