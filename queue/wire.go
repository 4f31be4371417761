package queue

import (
	"crypto/sha1" //nolint:gosec // tells texts apart; nothing is protected by it
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"sidecar/compat"
	"sidecar/compat/encoding"
)

// wire reads and writes what a topic's keys hold. It knows no Redis.
type wire struct {
	list  *ListOptions // nil: profile delay
	auto  bool         // texts may be wrapped (docs/decisions/0018)
	limit int          // bytes of one that is unwrapped
}

func newWire(opts Options) wire {
	return wire{list: opts.List, auto: opts.Encoding == EncodingAuto, limit: opts.DecodeLimit}
}

// text returns the text of an entry of running, as ready had it.
func (w wire) text(entry string) string {
	if w.list == nil {
		return entry
	}
	_, text := compat.SplitClaim(entry)
	return text
}

// job reads a text of ready and says in which form it is stored there.
func (w wire) job(stored string) (job compat.Job, form encoding.Form, err error) {
	text, form, err := w.unwrap(stored)
	if err != nil {
		return compat.Job{}, encoding.Form{}, err
	}
	if w.list == nil {
		job, err = compat.ParseJob(text)
	} else {
		job, err = compat.ParseListJob(text)
	}
	if err != nil && form != (encoding.Form{}) {
		return compat.Job{}, encoding.Form{}, fmt.Errorf("the text stored as %s: %w", form, err)
	}
	return job, form, err
}

// unwrap returns the text that is stored and its form.
func (w wire) unwrap(stored string) (text string, form encoding.Form, err error) {
	if !w.auto {
		return stored, encoding.Form{}, nil
	}
	return encoding.Decode(stored, w.limit)
}

// wrap returns text as it is to be stored in form, which is that of the text it comes from. So it can be written: only
// invalid UTF-8 in JSON cannot, and none was read from there. A plain text is one that phpredis reads, too.
func wrap(text string, form encoding.Form) string {
	stored, err := form.Encode(text)
	if err != nil {
		return text
	}
	return stored
}

// retries returns how often a failure of the job is followed by another run, where the job may say so; otherwise
// that is the ladder's matter and ok is false.
func (w wire) retries(job compat.Job) (n int, ok bool) {
	if w.list == nil {
		return 0, false
	}
	if n, ok := job.MaxRetry(); ok {
		return n, true
	}
	return w.list.MaxRetry, true
}

// reason is why a text is among a list's dead letters, which are texts and nothing else (CONTRACT 2).
type reason struct {
	List  string `json:"list"` // its key, without prefix: names of tables change
	JobID string `json:"job_id"`
	Error string `json:"error"`
	Trace string `json:"trace"`
	At    string `json:"at"` // as compat.FormatAt writes it
}

// text returns the reason as it is kept: under the fingerprint of the dead letter it is for.
func (r reason) text(letter string) string {
	b, _ := json.Marshal(r) // strings always can be
	return fingerprint(letter) + "\n" + string(b)
}

// parseReason undoes text. What is no reason is the zero one.
func parseReason(text string) (of string, r reason) {
	of, data, _ := strings.Cut(text, "\n")
	if json.Unmarshal([]byte(data), &r) != nil {
		return "", reason{}
	}
	return of, r
}

// fingerprint names a text in the reasons beside a list's dead letters.
func fingerprint(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}
