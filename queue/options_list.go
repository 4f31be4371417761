package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// maxShards bounds the lists that one claim goes over: a script must not hold Redis up.
	maxShards = 256

	// maxDecodeLimit bounds what one text may take of memory once it is unwrapped.
	maxDecodeLimit = 1 << 30
)

// DefaultListRetry returns the ladder of profile list: at once, as the old worker does (CONTRACT 2).
func DefaultListRetry() []time.Duration { return []time.Duration{0} }

// Validate reports every bad option at once. Each fault begins with the option's name in the TOML file.
func (o ListOptions) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	errs = append(errs, keyFault("key", o.Key, "the list as producers name it", "queue:prod:send_sms"))
	if o.Shards < 0 || o.Shards > maxShards {
		bad("shards = %d: want 1 to %d for key_0, key_1 and so on, or 0 for key itself", o.Shards, maxShards)
	}
	if !o.Order.known() {
		bad("order = %q: want %q or %q", o.Order, FIFO, LIFO)
	}
	errs = append(errs, keyFault("dead", o.Dead, "the dead letter list", "queue:prod:dead_letter"))
	if o.MaxRetry < 0 {
		bad("max_retry = %d: want zero or more", o.MaxRetry)
	}
	return errors.Join(errs...)
}

// keyFault says what is wrong with the key that the option called name gives. It may not be one of ours or of a topic's.
func keyFault(name, key, want, example string) error {
	switch {
	case key == "":
		return fmt.Errorf("%s: want %s, such as %q, without key_prefix", name, want, example)
	case slices.ContainsFunc(takenPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }):
		return fmt.Errorf("%s = %q: want %s, such as %q: %s begin keys of the sidecar's own, of topics, and of marks", name, key, want, example, strings.Join(takenPrefixes, ", "))
	}
	return nil
}

// takenPrefixes begin keys that no list may have: a mark of the same name would be written over it.
var takenPrefixes = []string{"sidecar:", "delay:", "idem:", "ack:"}

// validateList reports what holds for a topic and not for a list, once it is one.
func (o Options) validateList() error {
	if o.List == nil {
		return nil
	}
	errs := []error{o.List.Validate()}
	if len(o.Retry) == 0 {
		errs = append(errs, errors.New("retry: want at least one wait for a list; how often a job is retried is for the job to say, and for max_retry where it does not"))
	}
	if o.Idempotency == IdempotencyLegacy {
		errs = append(errs, fmt.Errorf("idempotency = %q: want %q or %q for a list: its old worker leaves no marks that could be believed", o.Idempotency, IdempotencyOff, IdempotencyOn))
	}
	return errors.Join(errs...)
}

// validateEncoding checks what becomes of a text before it is read.
func (o Options) validateEncoding() error {
	var errs []error
	if !o.Encoding.known() {
		errs = append(errs, fmt.Errorf("encoding = %q: want %q or %q", o.Encoding, EncodingPlain, EncodingAuto))
	}
	if o.DecodeLimit < 1 || o.DecodeLimit > maxDecodeLimit {
		errs = append(errs, fmt.Errorf("decode_limit = %d: want 1 to %d bytes, so much is kept in memory for every job in hand", o.DecodeLimit, maxDecodeLimit))
	}
	return errors.Join(errs...)
}

func (o Order) known() bool {
	switch o {
	case FIFO, LIFO:
		return true
	}
	return false
}

func (e Encoding) known() bool {
	switch e {
	case EncodingPlain, EncodingAuto:
		return true
	}
	return false
}
