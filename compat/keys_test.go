package compat_test

import (
	"strings"
	"testing"

	"sidecar/compat"
)

func TestOurOwnKeysStandApartFromTheTopics(t *testing.T) {
	wantText(t, "key", compat.OwnKey("shop:", "seen"), "shop:sidecar:seen")
	if key := compat.OwnKey("", "seen"); strings.HasPrefix(key, "delay:") || strings.HasPrefix(key, "queue:") {
		t.Errorf("%s is among the keys operators scan", key)
	}
}

func TestOnlyTheFirstHashTagCounts(t *testing.T) {
	for key, tag := range map[string]string{
		"{user1000}.following": "user1000",
		"foo{{bar}}zap":        "{bar", // not closed, so a whole key
		"foo{bar}{zap}":        "bar",
		"a}b{c}":               "c",
	} {
		if got, want := compat.HashSlot(key), compat.HashSlot(tag); got != want {
			t.Errorf("%s is in slot %d, want %d as %s", key, got, want, tag)
		}
	}
	if compat.HashSlot("foo{}{bar}") == compat.HashSlot("bar") {
		t.Error("an empty tag was passed over for the next")
	}
	for key, want := range map[string]int{"123456789": 12739, "foo": 12182, "": 0} { // as CLUSTER KEYSLOT answers
		if got := compat.HashSlot(key); got != want {
			t.Errorf("%q is in slot %d, want %d", key, got, want)
		}
	}
}

func TestATopicWithAHashTagKeepsItsKeysTogether(t *testing.T) {
	keys := compat.NewDelayKeys("p:", "{order_timeout}")
	for _, key := range []string{keys.Ready, keys.Running, keys.Dead, keys.Idem("a1"), compat.OwnKey("p:", "{order_timeout}")} {
		if compat.HashSlot(key) != compat.HashSlot(keys.Pool) {
			t.Errorf("%s and %s are in two slots", key, keys.Pool)
		}
	}
}
