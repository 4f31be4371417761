package fastcgi

import (
	"encoding/json"
	"path"
	"strconv"
	"time"

	"sidecar/compat"
)

// order is what the bridge is told, in SIDECAR_BRIDGE; it removes it before the team's code runs.
type order struct {
	Mode        string `json:"mode"`
	Nonce       nonce  `json:"nonce"`
	Call        string `json:"call"`
	Script      string `json:"script"`
	Bootstrap   string `json:"bootstrap"`
	ExitOK      bool   `json:"exit_ok"`
	FailOnFalse bool   `json:"fail_on_false"`
	MemoryLimit string `json:"memory_limit"`
	Socket      string `json:"socket"`
	PID         int    `json:"pid"`
	Secretly    bool   `json:"secretly"` // a secret comes with the hello, and is part of every hash

	// Of a resident worker alone.
	Token       nonce  `json:"token,omitempty"`
	Topic       string `json:"-"` // a parameter of its own, SIDECAR_TOPIC, as in every request of a job
	TimeoutMS   int64  `json:"timeout_ms,omitempty"`
	FrameLimit  int    `json:"frame_limit,omitempty"`
	OutputLimit int    `json:"output_limit,omitempty"`
	MaxJobs     int    `json:"max_jobs,omitempty"`
	MaxMemory   int64  `json:"max_memory,omitempty"`
	Routes      bool   `json:"routes,omitempty"` // each job names what runs it, not the order
}

// The bridge's modes.
const (
	modeRun    = "run"
	modeCheck  = "check"
	modeKill   = "kill"
	modeWorker = "worker"
)

// baseParams are the parameters of every request: a fixed list, and nothing in it comes from a job. PHP_VALUE
// and its kind are not on it: they stick to the child (FPM-FACTS 2).
func baseParams(script, shownAs, documentRoot, body string) map[string]string {
	name := "/" + path.Base(shownAs)
	return map[string]string{
		"GATEWAY_INTERFACE": "CGI/1.1",
		"SERVER_SOFTWARE":   "sidecar",
		"SERVER_PROTOCOL":   "HTTP/1.1",
		"SERVER_NAME":       "localhost",
		"SERVER_ADDR":       "127.0.0.1",
		"SERVER_PORT":       "80",
		"REMOTE_ADDR":       "127.0.0.1",
		"REQUEST_METHOD":    "POST",
		"REQUEST_URI":       name,
		"SCRIPT_NAME":       name,
		"SCRIPT_FILENAME":   script,
		"DOCUMENT_ROOT":     documentRoot,
		"QUERY_STRING":      "",
		"CONTENT_TYPE":      "application/json",
		"CONTENT_LENGTH":    strconv.Itoa(len(body)), // without it PHP sees no body at all (FPM-FACTS 7)
	}
}

// bridgeParams are the parameters of a request that the bridge at path runs for o.
func bridgeParams(bridge string, o order, body string) (map[string]string, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	shownAs := bridge
	if o.Script != "" {
		shownAs = o.Script
	}
	params := baseParams(bridge, shownAs, path.Dir(shownAs), body)
	params["SIDECAR_BRIDGE"] = string(text)
	return params, nil
}

// workerParams are the parameters of the long request of a resident worker. It has no body: with one, FPM would
// wait for its end before the script starts (FPM-FACTS 8).
func workerParams(bridge string, o order) (map[string]string, error) {
	params, err := bridgeParams(bridge, o, "")
	if err != nil {
		return nil, err
	}
	params["SIDECAR_TOPIC"] = o.Topic
	params["REQUEST_METHOD"] = "GET"
	delete(params, "CONTENT_TYPE")
	delete(params, "CONTENT_LENGTH")
	return params, nil
}

// addJob adds what a handler may read about its job.
func addJob(params map[string]string, topic string, job compat.Job, timeout time.Duration) {
	params["SIDECAR_TOPIC"] = topic
	params["SIDECAR_UUID"] = job.PlainUUID()
	params["SIDECAR_TRIES"] = strconv.Itoa(job.Tries())
	params["SIDECAR_CRASHES"] = strconv.Itoa(job.Crashes())
	params["SIDECAR_TIMEOUT_MS"] = strconv.FormatInt(timeout.Milliseconds(), 10)
}

// addTrace adds the trace that the run is part of, as the headers of a request that PHP's instrumentation reads.
func addTrace(params map[string]string, t compat.TraceContext) {
	if t.Parent != "" {
		params["HTTP_TRACEPARENT"] = t.Parent
	}
	if t.State != "" {
		params["HTTP_TRACESTATE"] = t.State
	}
}
