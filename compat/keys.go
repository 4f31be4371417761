package compat

import (
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
)

// DelayKeys are the keys of one topic as PHP writes them (CONTRACT 1). All of them, the idempotency
// marks included, stand under the same client-side prefix.
type DelayKeys struct {
	Pool    string // ZSET: job texts by due time
	Ready   string // LIST: job texts, RPUSH in, LPOP out
	Running string // ZSET: job texts by the end of their lease
	Dead    string // LIST: dead records, RPUSH in, LPOP out

	Moved string // ours, ZSET: which moves of single dead jobs were made (docs/decisions/0021)

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
		Moved:   prefix + "sidecar:moved:" + topic,
		idem:    prefix + "idem:" + topic + ":",
	}
}

// Idem returns the key of the idempotency mark of uuid (CONTRACT 1.4).
func (k DelayKeys) Idem(uuid string) string { return k.idem + uuid }

// ListKeys are the keys of one list and its shards as PHP writes them (CONTRACT 2), and ours beside them. All of them
// stand under the same client-side prefix.
type ListKeys struct {
	Lists []string // LIST: job texts, LPUSH in; one a shard, and behind them the list that had no shards yet
	Dead  string   // LIST: texts as they were popped for their last run, LPUSH in

	Running string // ours, ZSET: claims (see JoinClaim) by the end of their lease
	Pool    string // ours, ZSET: claims that are to run later, by due time
	Reasons string // ours, LIST: why texts are in Dead, LPUSH in
	Moved   string // ours, ZSET: which moves of single dead jobs were made (docs/decisions/0021)

	ack string // what stands before the job_id
}

// NewListKeys returns the keys of the list key, with dead for its dead letters. Without shards the list is key
// itself, otherwise key_0 to key_<shards-1>, and key, since what it holds from before there were shards would have no
// consumer else. prefix is the client-side one, or empty.
func NewListKeys(prefix, key, dead string, shards int) ListKeys {
	k := ListKeys{
		Lists:   []string{prefix + key},
		Dead:    prefix + dead,
		Running: prefix + "sidecar:running:" + key,
		Pool:    prefix + "sidecar:pool:" + key,
		Reasons: prefix + "sidecar:reasons:" + dead,
		Moved:   prefix + "sidecar:moved:" + key,
		ack:     prefix + "ack:",
	}
	for n := range shards {
		k.Lists = slices.Insert(k.Lists, n, prefix+key+"_"+strconv.Itoa(n))
	}
	return k
}

// Ack returns the key that says of the job with that job_id whether someone is on it (CONTRACT 2).
func (k ListKeys) Ack(jobID string) string { return k.ack + jobID }

// Shard returns the number of the shard that producers choose for id: crc32(id) % shards. Without shards it is 0.
func Shard(id string, shards int) int {
	if shards < 2 {
		return 0
	}
	return int(crc32.ChecksumIEEE([]byte(id)) % uint32(shards)) //nolint:gosec // shards are few
}

// JoinClaim returns an entry of a list's running or pool: text, under an id that makes it another one than that of an
// equal text. The id begins with the number of the text's shard.
func JoinClaim(shard int, id, text string) string {
	return strconv.Itoa(shard) + "-" + id + "\n" + text
}

// SplitClaim undoes [JoinClaim]; id includes the shard. An entry without an id is all text, its line feeds included.
func SplitClaim(entry string) (id, text string) {
	digits := 0
	for digits < len(entry) && isDigit(entry[digits]) {
		digits++
	}
	if id, text, ok := strings.Cut(entry, "\n"); ok && digits > 0 && strings.HasPrefix(id[digits:], "-") {
		return id, text
	}
	return "", entry
}
