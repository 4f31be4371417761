package compat_test

import (
	"testing"

	"sidecar/compat"
)

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
	for topic, want := range map[string]string{
		"{order_timeout}": "",
		"order_timeout":   "p:delay:ready:order_timeout",
	} {
		if got := compat.NewDelayKeys("p:", topic).OutsideSlot(); got != want {
			t.Errorf("%s: %q is in a slot of its own, want %q", topic, got, want)
		}
	}
	if got := compat.NewDelayKeys("{p}:", "order_timeout").OutsideSlot(); got != "" {
		t.Errorf("with a hash tag in the prefix %q is in a slot of its own", got)
	}
}
