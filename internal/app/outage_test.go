package app

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

// reply is an error of Redis.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestAnOutageIsOneReasonAFault(t *testing.T) {
	var o outage
	for _, topic := range []string{"mail", "order", "mail", "stock"} {
		if !o.takes(topic, fmt.Errorf("promote %s: %w", topic, io.EOF)) {
			t.Errorf("%s: a lost connection is not taken for the server's", topic)
		}
	}
	if !o.takes("mail", errors.Join(nil, reply("OOM command not allowed when used memory > 'maxmemory'."))) {
		t.Error("OOM is not taken for the server's")
	}
	for _, err := range []error{nil, reply("WRONGTYPE Operation against a key"), reply("NOPERM no permissions"), errors.New("handler missing")} {
		if o.takes("mail", err) {
			t.Errorf("%v is taken for the server's", err)
		}
	}
	want := []string{"redis: promote mail: EOF (and 2 more topics)", "redis: OOM command not allowed when used memory > 'maxmemory'."}
	if got := o.reasons(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoOutageIsNoReason(t *testing.T) {
	if got := new(outage).reasons(); got != nil {
		t.Errorf("got %q, want none", got)
	}
}
