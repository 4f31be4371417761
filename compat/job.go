package compat

import "errors"

// MaxDepth is the nesting at which PHP's json_decode gives up, its default depth: as measured on PHP 8.2 it
// takes 511 levels of brackets and refuses 512.
const MaxDepth = 512

var (
	// ErrNotObject reports a text that is no JSON object, hence no job. The error that wraps it says what
	// was found and where. Such a text belongs into dead, its bytes kept (CONTRACT 1.3).
	ErrNotObject = errors.New("not a JSON object")

	// ErrWrapped reports a {"sidecar_raw": …} wrapper met as a job: a text that was buried because it is no
	// job, and that another tool than ours has replayed. It is buried again.
	ErrWrapped = errors.New(`a dead record's "sidecar_raw" wrapper, replayed without being unwrapped`)
)

// Job is one job's text exactly as PHP wrote it, with the places of the few fields the sidecar reads.
//
// A Job is a value: With… methods return a changed copy. Two jobs of the same text are equal (==).
type Job struct {
	raw  string
	list bool // its fields are named as in profile list
	object
}

// The fields of a job that the sidecar knows (CONTRACT 1.2 and 2); all others are the business's.
const (
	uuidField = otherField + 1 + iota
	topicField
	retryField
	crashesField
	lastErrorField
	replayedAtField
	rawField
	typeField
	maxRetryField
	createdAtField
)

// jobField returns the field of a job of profile delay called name.
func jobField(name string) field {
	switch name {
	case "uuid":
		return uuidField
	case "topic":
		return topicField
	case "retry":
		return retryField
	case "crashes":
		return crashesField
	case "last_error":
		return lastErrorField
	case "replayed_at":
		return replayedAtField
	case "sidecar_raw":
		return rawField
	}
	return otherField
}

// listField returns the field of a job of profile list called name.
func listField(name string) field {
	switch name {
	case "job_id":
		return uuidField
	case "type":
		return typeField
	case "retry_count":
		return retryField
	case "max_retry":
		return maxRetryField
	case "created_at":
		return createdAtField
	case "crashes":
		return crashesField
	case "last_error":
		return lastErrorField
	}
	return otherField
}

// field returns what the job calls name.
func (j Job) field(name string) field {
	if j.list {
		return listField(name)
	}
	return jobField(name)
}

// ParseJob reads text in one pass and keeps it as it is. The error is an ErrNotObject or an ErrWrapped, and
// the Job is zero then.
//
// It takes every text that is a JSON object by the grammar, also one that PHP's json_decode refuses for its
// bytes or its depth: see [Job.PHPError]. Fields that occur twice count as PHP counts them, the last one.
func ParseJob(text string) (Job, error) {
	o, err := scanObject(text, jobField)
	if err != nil {
		return Job{}, explain(text, err)
	}
	if _, ok := wrappedBytes(text, o); ok {
		return Job{}, ErrWrapped
	}
	return Job{raw: text, object: o}, nil
}

// ParseListJob is [ParseJob] for profile list (CONTRACT 2): there a job's uuid is its job_id, its retry is
// retry_count, and it names its type. It knows no wrappers: a list's dead letters are texts as they were popped.
func ParseListJob(text string) (Job, error) {
	o, err := scanObject(text, listField)
	if err != nil {
		return Job{}, explain(text, err)
	}
	return Job{raw: text, list: true, object: o}, nil
}

// Raw returns the text byte for byte. Only this may go back to Redis.
func (j Job) Raw() string { return j.raw }

// UUID returns the job's uuid, in profile list its job_id: a string's characters, a number's text as it stands, otherwise "".
func (j Job) UUID() string { return nameOf(j.value(uuidField)) }

// MaxRetry returns how often the job asks to be retried (CONTRACT 2). ok is false when it does not say, or nothing
// that is a number: 2, 2.9 and "2" are 2, what is below zero is 0; "abc", true, [] and null are no number.
func (j Job) MaxRetry() (n int, ok bool) {
	value := j.value(maxRetryField)
	if !isNumeric(value) {
		return 0, false
	}
	return max(intCast(value), 0), true
}

// CreatedAt returns created_at of a job of profile list as the number that it is, or that its text is: seconds, where the
// producer keeps to CONTRACT 2. It is "" when the job does not say, or nothing that is a number.
func (j Job) CreatedAt() string {
	value := j.value(createdAtField)
	switch {
	case !isNumeric(value):
		return ""
	case value[0] == '"':
		return numericPrefix(unquote(value))
	}
	return value
}

// nameOf reads a name: a string's characters, a number's text, otherwise "".
func nameOf(value string) string {
	switch {
	case value == "":
		return ""
	case value[0] == '"':
		return unquote(value)
	case value[0] == '-', isDigit(value[0]):
		return value
	}
	return ""
}

// Topic returns the topic that the job itself names, or "" when it names none. That is the producer's own
// note, and no part of the contract: the key says which topic a job belongs to.
func (j Job) Topic() string { return stringOf(j.value(topicField)) }

// Type returns the type of a job of profile list, which selects the business code: a string's characters, a number's
// text as it stands, otherwise "".
func (j Job) Type() string { return nameOf(j.value(typeField)) }

// Tries returns retry, in profile list retry_count: how often the job has failed, read as PHP's (int) reads it; 0 when absent. A count
// beyond the integers is the largest one that can still be raised by 1.
func (j Job) Tries() int { return intCast(j.value(retryField)) }

// Crashes returns crashes, how often a run of the job ended without a verdict, read like [Job.Tries].
func (j Job) Crashes() int { return intCast(j.value(crashesField)) }

// LastError returns last_error, or "" when it is absent or no string.
func (j Job) LastError() string { return stringOf(j.value(lastErrorField)) }

// Lookup returns the string that stands under name at the outermost level of the job, "" when there is none. It goes
// through the text once more: for fields that few deployments use.
func (j Job) Lookup(name string) string {
	const wanted = otherField + 1
	o, err := scanObject(j.raw, func(key string) field {
		if key == name {
			return wanted
		}
		return otherField
	})
	if err != nil {
		return ""
	}
	return stringOf(o.members[wanted].of(j.raw))
}

// PHPError returns nil when PHP's json_decode(text, true) takes the text, else why it does not: then a
// script handler still gets the bytes, a call handler cannot be called.
func (j Job) PHPError() error { return j.fault.err() }

// value returns the text of the field's value, "" when the field is absent.
func (j Job) value(f field) string { return j.members[f].of(j.raw) }
