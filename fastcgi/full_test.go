package fastcgi

import (
	"syscall"
	"testing"
	"time"
)

func TestAPoolThatIsFullIsToldFromOneThatIsAway(t *testing.T) {
	full := []string{noChild(12 * time.Second).Error(), explainDial(address{}, syscall.EAGAIN).Error()}
	for _, reason := range full {
		if !IsFull(reason) {
			t.Errorf("%q is not taken for full", reason)
		}
	}
	for _, why := range []error{syscall.ECONNREFUSED, syscall.ENOENT, syscall.EACCES} {
		if reason := explainDial(address{}, why).Error(); IsFull(reason) {
			t.Errorf("%q is taken for full", reason)
		}
	}
}
