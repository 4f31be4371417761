package compat

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// TraceLength is how many characters of a trace a dead record keeps (CONTRACT 1.3).
const TraceLength = 2000

// ErrNotRecord reports a text in dead that holds no job, so that it cannot be replayed.
var ErrNotRecord = errors.New("not a dead record")

// DeadRecord is what is kept of a job that is not run again (CONTRACT 1.3).
type DeadRecord struct {
	Job   string // the job's exact text, which need not be one that parses
	Error string
	Trace string
	At    string // as FormatAt writes it
}

const (
	jobMember = otherField + 1 + iota
	errorMember
	traceMember
	atMember
)

func deadField(name string) field {
	switch name {
	case "job":
		return jobMember
	case "error":
		return errorMember
	case "trace":
		return traceMember
	case "at":
		return atMember
	}
	return otherField
}

// ParseDeadRecord reads a record of ours or of the old consumer, in any layout. Job comes back byte for
// byte. The error is an ErrNotRecord.
func ParseDeadRecord(text string) (DeadRecord, error) {
	o, err := scanObject(text, deadField)
	if err != nil {
		return DeadRecord{}, fmt.Errorf("%w: %w", ErrNotRecord, explain(text, err))
	}
	job := o.members[jobMember].of(text)
	if !strings.HasPrefix(job, "{") {
		return DeadRecord{}, fmt.Errorf("%w: no object in its job", ErrNotRecord)
	}
	r := DeadRecord{
		Job:   job,
		Error: stringOf(o.members[errorMember].of(text)),
		Trace: stringOf(o.members[traceMember].of(text)),
		At:    stringOf(o.members[atMember].of(text)),
	}
	if raw, ok := unwrap(job); ok {
		r.Job = raw
		return r, nil
	}
	return r.withPadding(text, o.members[jobMember]), nil
}

// withPadding gives Job back the white space around it where it is the job's own: where we are the ones who
// wrote the record, for we put none. Around the job in any other record it is the layout of the record.
func (r DeadRecord) withPadding(text string, job span) DeadRecord {
	before, ok := strings.CutPrefix(text[:job.start], `{"job":`)
	if !ok {
		return r
	}
	behind := text[job.end:]
	behind = behind[:len(behind)-len(strings.TrimLeft(behind, " \t\n\r"))]
	if before == "" && behind == "" {
		return r
	}
	padded := r
	padded.Job = text[job.start-len(before) : job.end+len(behind)]
	if padded.Text() == text {
		return padded
	}
	return r
}

// Text returns the record as the old consumer would have written it. The trace is cut to TraceLength.
//
// Job goes in as it is, unless the old replay script or PHP's json_decode would choke on it: no object,
// invalid for PHP, or too deep to sit one level down. Then its bytes go in as {"sidecar_raw": "<base64>"}.
// A Job that is such a wrapper itself is not wrapped twice: the record holds what it wraps.
func (r DeadRecord) Text() string {
	text := make([]byte, 0, len(r.Job)+len(r.Error)+len(r.Trace)+128)
	text = append(text, `{"job":`...)
	text = appendEmbedded(text, r.Job)
	text = append(text, `,"error":`...)
	text = AppendPHPString(text, r.Error)
	text = append(text, `,"trace":`...)
	text = AppendPHPString(text, Cut(r.Trace, TraceLength))
	text = append(text, `,"at":`...)
	text = AppendPHPString(text, r.At)
	return string(append(text, '}'))
}

// appendEmbedded appends job as it may stand inside a record.
func appendEmbedded(dst []byte, job string) []byte {
	if raw, ok := unwrap(job); ok {
		job = raw
	}
	if j, err := ParseJob(job); err == nil && !j.fault.found() && !j.deep {
		return append(dst, job...)
	}
	dst = append(dst, `{"sidecar_raw":`...)
	dst = AppendPHPString(dst, base64.StdEncoding.EncodeToString([]byte(job)))
	return append(dst, '}')
}

// unwrap returns the bytes that text wraps, if it is a sidecar_raw wrapper.
func unwrap(text string) (string, bool) {
	o, err := scanObject(text, jobField)
	if err != nil {
		return "", false
	}
	return wrappedBytes(text, o)
}

// wrappedBytes returns the bytes that the object wraps. Besides sidecar_raw it may have what a replay or a
// failure adds, nothing else: then it is a business object that happens to have the field.
func wrappedBytes(text string, o object) (string, bool) {
	value := o.members[rawField].of(text)
	if value == "" || value[0] != '"' || !o.members[uuidField].absent() || !o.members[otherField].absent() {
		return "", false
	}
	raw, err := base64.StdEncoding.DecodeString(unquote(value))
	return string(raw), err == nil
}

// ReplayText returns the text to add to the pool (CONTRACT 1.5): the job with retry 0, crashes 0 where it
// has them, and replayed_at. A text that is no job goes back as it came.
func (r DeadRecord) ReplayText(at string) string {
	job, err := ParseJob(r.Job)
	if err != nil {
		return r.Job
	}
	job = job.WithTries(0)
	if job.value(crashesField) != "" {
		job = job.WithCrashes(0)
	}
	return job.WithReplayedAt(at).Raw()
}

// FormatAt returns t as PHP's date('Y-m-d H:i:s') prints it in the time zone loc.
func FormatAt(t time.Time, loc *time.Location) string {
	return t.In(loc).Format(time.DateTime)
}
