package fastcgi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// answer is what a resident worker says of one job: the content of a verdict or dead frame.
type answer struct {
	sign
	Out     string `json:"out"`      // base64 of the output that was kept
	OutSize int64  `json:"out_size"` // of all of it
}

// parseAnswer reads an answer. The usual one, of a job that is done and printed nothing, takes the short way:
// encoding/json would cost more than all the rest of the hot path.
func parseAnswer(text []byte) (answer, error) {
	if a, ok := quickAnswer(text); ok {
		return a, nil
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return answer{}, fmt.Errorf("%w: a verdict that is no JSON: %w", errFrame, err)
	}
	return a, nil
}

// quickAnswer reads {"v":"done", …} where everything else is a number or an empty string.
func quickAnswer(text []byte) (a answer, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte(`{"v":"done"`))
	a.Verdict = "done"
	for ok && len(rest) > 1 {
		rest, ok = a.member(rest)
	}
	return a, ok && len(rest) == 1 && rest[0] == '}'
}

// member reads one ,"name":value and returns what is behind it.
func (a *answer) member(text []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(text, []byte(`,"`))
	name, rest, named := bytes.Cut(rest, []byte(`":`))
	if !ok || !named {
		return nil, false
	}
	if after, empty := bytes.CutPrefix(rest, []byte(`""`)); empty {
		return after, string(name) == "error" || string(name) == "trace"
	}
	end := 0
	for end < len(rest) && rest[end] != ',' && rest[end] != '}' {
		end++
	}
	n, err := strconv.ParseFloat(string(rest[:end]), 64)
	switch string(name) {
	case "ms":
		a.MS = n
	case "boot_ms":
		a.BootMS = n
	case "mem":
		a.Memory = int64(n)
	case "pid": // it said so in its hello
	case "delay_ms":
		a.DelayMS = n
	case "out_size":
		a.OutSize = int64(n)
	default:
		return nil, false
	}
	return rest[end:], err == nil
}

// output returns the job's output as far as it was kept, and its full size.
func (a answer) output() ([]byte, int64) {
	kept, err := base64.StdEncoding.DecodeString(a.Out)
	if err != nil {
		kept = []byte(a.Out) // better than nothing, for a person
	}
	return kept, max(a.OutSize, int64(len(kept)))
}

// took is how long the job ran, by the worker's own clock.
func (a answer) took() time.Duration { return time.Duration(max(a.MS, 0) * float64(time.Millisecond)) }
