package fastcgi

import (
	"regexp"
	"time"
)

// PoolOptions are one [fpm.<name>] table, named as in the TOML file.
type PoolOptions struct {
	Name       string
	Listen     string // listen: unix:///path or tcp://host:port
	Children   int    // children: how many of the pool's children jobs may occupy
	Status     string // status: pm.status_path on listen ("/status"), or a pm.status_listen address with path ("unix:///run/s.sock?path=/status", "tcp://127.0.0.1:9001/status")
	BridgePath string // bridge_path: a deployed copy of bridge.php as FPM sees it; then none is written
	BridgeDir  string // bridge_dir: where the bridge is written and the report socket listens, as the host sees it
	Chroot     string // chroot: the pool's chroot; paths in topics are as seen inside

	// WorkerSocket is worker_socket: where resident workers call back. "" = a unix socket in bridge_dir;
	// or tcp://127.0.0.1:port, port 0 for any free one.
	WorkerSocket string
}

// DefaultPoolOptions returns the defaults of a pool.
func DefaultPoolOptions() PoolOptions {
	return PoolOptions{Children: 8, BridgeDir: "/run/sidecar"}
}

// Mode says how a topic's jobs reach PHP.
type Mode string

const (
	// ModeRequest is one FPM request a job (DESIGN 6.2).
	ModeRequest Mode = "request"
	// ModeWorker is one long FPM request a worker, which serves job after job (DESIGN 6.3).
	ModeWorker Mode = "worker"
)

// TopicOptions say how one topic's jobs run, named as in the TOML file.
type TopicOptions struct {
	Topic        string
	Workers      int            // workers: jobs at once, at most
	Weight       int            // weight: share of the pool's slots when topics compete
	Mode         Mode           // mode
	Call         string         // call: "App\\Jobs\\X::method" or a function; with Routes it may be absent, as may script
	Script       string         // script: absolute path as FPM sees it
	Bootstrap    string         // bootstrap: absolute path, included before
	Bridge       bool           // bridge: false = raw mode, FPM runs script itself
	ExitOK       bool           // exit_ok: exit/die inside the handler is a success
	FailOnFalse  bool           // fail_on_false: a handler returning false has failed
	SuccessBody  *regexp.Regexp // success_body: the output must match, nil = not asked
	Timeout      time.Duration  // timeout: wall clock of one run, from the start sign
	AbandonAfter time.Duration  // abandon_after: when a run that cannot be stopped is given up
	MemoryLimit  string         // memory_limit: PHP's, "" = as the pool has it
	OutputLimit  int            // output_limit: bytes of output and of stderr kept, each
	LogStderr    bool           // log_stderr: what jobs write to stderr goes to the log

	// Routes are the [list.<name>.route.<type>] tables: which code runs the jobs of a type (CONTRACT 2).
	// A job whose type has no route runs by Call or Script, the default route; without one it is rejected.
	Routes map[string]Target

	// Of mode = "worker" alone.
	MinWorkers  int           // min_workers: kept while there is nothing to do
	IdleTimeout time.Duration // idle_timeout: when an idle worker leaves
	MaxJobs     int           // max_jobs: after how many a worker is replaced
	MaxAge      time.Duration // max_age: after how long
	MaxMemory   int64         // max_memory: beyond how many bytes of PHP's, 0 = never
}

// Target is the code that one route's jobs run. It has no bootstrap of its own: a resident worker loads
// one bootstrap once, before its first job, whichever route that job is of, and what a bootstrap has
// declared cannot be taken back for a job of another type.
type Target struct {
	Call    string        // call: as a topic's
	Script  string        // script: as a topic's
	Timeout time.Duration // timeout: of this route's runs, 0 = the topic's
}

// DefaultTopicOptions returns the defaults of a topic.
func DefaultTopicOptions() TopicOptions {
	return TopicOptions{
		Weight:       1,
		Mode:         ModeRequest,
		Bridge:       true,
		Timeout:      60 * time.Second,
		AbandonAfter: time.Hour,
		OutputLimit:  64 << 10,
		IdleTimeout:  10 * time.Second,
		MaxJobs:      1000,
		MaxAge:       time.Hour,
	}
}
