package compat_test

import (
	"testing"

	"sidecar/compat"
)

func TestASpoolsMarksAreInTheSlotOfTheirKey(t *testing.T) {
	tests := map[string]struct{ prefix, key, want string }{
		"tag in the key":    {"", "delay:pool:{mail}", "sidecar:spool:delay:pool:{mail}:5f"},
		"tag in the prefix": {"{shop}:", "queue:prod:sms_3", "{shop}:sidecar:spool:queue:prod:sms_3:5f"},
		"no tag":            {"shop_", "queue:prod:sms_3", "shop_sidecar:spool:{shop_queue:prod:sms_3}:5f"},
	}
	for name, tt := range tests {
		got := compat.SpoolMarks(tt.prefix, tt.key, "5f")
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
		if compat.HashSlot(got) != compat.HashSlot(tt.prefix+tt.key) {
			t.Errorf("%s: %s is in another slot than %s%s", name, got, tt.prefix, tt.key)
		}
	}
}
