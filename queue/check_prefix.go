package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Bounds of the search for prefixed keys: it is a hint, not a promise.
const (
	scanCount = 1000
	scanCalls = 20
)

// prefixWarnings tells when none of a topic's keys exist but such with something in front do: mostly a framework's
// key prefix, and consumers without it sit idle for ever.
func prefixWarnings(ctx context.Context, rdb redis.UniversalClient, nodes []redis.UniversalClient, prefix string, opts Options) []string {
	own := keysOf(prefix, opts).roles()
	if n, err := rdb.Exists(ctx, own...).Result(); err != nil || n > 0 {
		return nil // they are there, or this user may not look
	}
	plain := keysOf("", opts).roles()
	pattern := "*delay:*:" + globEscape(opts.Topic)
	if opts.List != nil {
		pattern = "*" + globEscape(opts.List.Key) + "*"
	}
	var found []string
	for _, node := range nodes { // with its prefix a key may lie anywhere in a Cluster
		found = append(found, prefixed(ctx, node, pattern, prefix, plain)...)
	}
	if len(found) == 0 {
		return nil
	}
	slices.Sort(found)
	return []string{fmt.Sprintf("topic %s has no keys, but there are %s: set key_prefix", opts.Topic, strings.Join(slices.Compact(found), ", "))}
}

// prefixed looks on one server for the plain keys with something else than prefix in front.
func prefixed(ctx context.Context, node redis.UniversalClient, pattern, prefix string, plain []string) (found []string) {
	for cursor, calls := uint64(0), 0; calls < scanCalls; calls++ {
		page, next, err := node.Scan(ctx, cursor, pattern, scanCount).Result()
		if err != nil {
			return nil
		}
		for _, key := range page {
			for _, role := range plain {
				if other, ok := strings.CutSuffix(key, role); ok && other != prefix {
					found = append(found, key)
				}
			}
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	return found
}

// globEscape makes a pattern that matches text only.
func globEscape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
