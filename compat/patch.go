package compat

import "strconv"

// LastErrorLength is how many characters of an error last_error keeps (CONTRACT 1.3).
const LastErrorLength = 500

// WithTries returns the job with retry, in profile list retry_count, set to n. Like all With… methods it replaces an existing value in
// place, the last of duplicates, and appends a new field last; every other byte stays as it was.
func (j Job) WithTries(n int) Job {
	if j.list {
		return j.with(retryField, "retry_count", strconv.Itoa(n))
	}
	return j.with(retryField, "retry", strconv.Itoa(n))
}

// WithCrashes returns the job with crashes set to n.
func (j Job) WithCrashes(n int) Job { return j.with(crashesField, "crashes", strconv.Itoa(n)) }

// WithLastError returns the job with last_error set to the first LastErrorLength characters of s.
func (j Job) WithLastError(s string) Job {
	return j.with(lastErrorField, "last_error", phpString(Cut(s, LastErrorLength)))
}

// WithReplayedAt returns the job with replayed_at set to at, as [FormatAt] writes it.
func (j Job) WithReplayedAt(at string) Job {
	return j.with(replayedAtField, "replayed_at", phpString(at))
}

// WithUUID returns the job with uuid set, for a producer whose job came without one.
func (j Job) WithUUID(uuid string) Job {
	if j.list {
		return j.with(uuidField, "job_id", phpString(uuid))
	}
	return j.with(uuidField, "uuid", phpString(uuid))
}

// with splices value, a JSON text, into the job and moves the places behind it.
func (j Job) with(f field, name, value string) Job {
	old := j.members[f]
	start := old.start // of the value, in the new text
	piece := value
	if old.absent() {
		key := `,"` + name + `":`
		if j.empty() {
			key = key[1:]
		}
		old = span{j.tail, j.tail}
		start = j.tail + len(key)
		piece = key + value
	}
	text := j.raw[:old.start] + piece + j.raw[old.end:]
	if j.deep || j.fault.found() {
		// What PHP would refuse may have been in the value just replaced.
		o, _ := scanObject(text, j.field) // cannot fail: one JSON value in place of another
		return Job{raw: text, list: j.list, object: o}
	}

	shift := len(text) - len(j.raw)
	for i := range j.members {
		if j.members[i].start > old.start {
			j.members[i].start += shift
			j.members[i].end += shift
		}
	}
	j.members[f] = span{start, start + len(value)}
	j.tail += shift
	j.raw = text
	return j
}
