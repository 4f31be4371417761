package fastcgi

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// maxOutputLimit bounds what is kept in memory for every job that runs.
const maxOutputLimit = 1 << 30

// maxPath is the longest name that Linux takes for a file.
const maxPath = 4095

// phpName is a name of a namespace, class, method or function.
const phpName = `[a-zA-Z_\x{80}-\x{10FFFF}][\w\x{80}-\x{10FFFF}]*`

var (
	// A function or Class::method, with or without namespaces.
	callable = regexp.MustCompile(`^\\?` + phpName + `(\\` + phpName + `)*(::` + phpName + `)?$`)

	// PHP's memory_limit: bytes, shorthand, or -1 for none.
	memoryLimit = regexp.MustCompile(`^(-1|[1-9][0-9]*[KMGkmg]?)$`)

	// A pattern in PHP's delimiters, which RE2 would take for a part of it.
	delimited = regexp.MustCompile(`^/.*/[imsxuADU]*$`)
)

// Validate reports every bad option at once. Each fault begins with the option's name in the TOML file.
func (o PoolOptions) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if want := listenFault(o.Listen); want != "" {
		bad("listen = %q: want %s", o.Listen, want)
	}
	if o.Children < 1 {
		bad("children = %d: want at least 1", o.Children)
	}
	if want := statusFault(o.Status); want != "" {
		bad("status = %q: want %s", o.Status, want)
	}
	if o.BridgePath != "" && !absolute(o.BridgePath) {
		bad("bridge_path = %q: want an absolute, clean path as FPM sees it", o.BridgePath)
	}
	if !absolute(o.BridgeDir) {
		bad("bridge_dir = %q: want an absolute, clean path", o.BridgeDir)
	}
	if o.Chroot != "" && !absolute(o.Chroot) {
		bad("chroot = %q: want an absolute, clean path", o.Chroot)
	}
	if o.WorkerSocket != "" && !loopback(o.WorkerSocket) {
		bad(`worker_socket = %q: want "" for a unix socket in bridge_dir, or "tcp://127.0.0.1:port" (port 0: any); job texts cross it unencrypted`, o.WorkerSocket)
	}
	return errors.Join(errs...)
}

// listenFault says what is wanted instead of listen, "" if nothing is wrong with it.
func listenFault(listen string) string {
	switch rest, isUnix := strings.CutPrefix(listen, "unix://"); {
	case isUnix && absolute(rest):
		return ""
	case isUnix:
		return `an absolute, clean path, with three slashes: "unix:///run/php/php-fpm.sock"`
	case strings.HasPrefix(listen, "/"):
		return strconv.Quote("unix://" + listen)
	}
	addr, isTCP := strings.CutPrefix(listen, "tcp://")
	switch {
	case isTCP && hostPort(addr):
		return ""
	case !isTCP && hostPort(listen):
		return strconv.Quote("tcp://" + listen)
	}
	return `"unix:///path/to.sock" or "tcp://host:port"`
}

// statusFault says what is wanted instead of status, "" if nothing is wrong with it.
func statusFault(status string) string {
	const want = `a path such as "/status", or where pm.status_listen is: "unix:///run/s.sock?path=/status", "tcp://127.0.0.1:9001/status"`
	if status == "" || absolute(status) {
		return ""
	}
	u, err := url.Parse(status)
	switch {
	case err != nil:
		return want
	case u.Scheme == "unix" && u.Host == "" && absolute(u.Path) && absolute(u.Query().Get("path")):
		return ""
	case u.Scheme == "tcp" && hostPort(u.Host) && absolute(u.Path) && u.RawQuery == "":
		return ""
	}
	return want
}

// Validate reports every bad option at once. Each fault begins with the option's name in the TOML file.
func (o TopicOptions) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if o.Workers < 1 {
		bad("workers = %d: want at least 1", o.Workers)
	}
	if o.Weight < 1 {
		bad("weight = %d: want at least 1", o.Weight)
	}
	if !o.Mode.known() {
		bad("mode = %q: want %q or %q", o.Mode, ModeRequest, ModeWorker)
	}
	errs = append(errs, o.validateWorkers())
	errs = append(errs, o.validateTarget())
	errs = append(errs, o.validateRoutes())
	if o.Timeout <= 0 {
		bad("timeout = %q: want more than zero", o.Timeout)
	}
	if o.AbandonAfter < o.Timeout {
		bad("abandon_after = %q: want at least timeout = %q, a run is not given up before it is late", o.AbandonAfter, o.Timeout)
	}
	if o.MemoryLimit != "" && !memoryLimit.MatchString(o.MemoryLimit) {
		bad(`memory_limit = %q: want what PHP takes, such as "256M", or "-1"`, o.MemoryLimit)
	}
	if o.OutputLimit < 0 || o.OutputLimit > maxOutputLimit {
		bad("output_limit = %d: want 0 to %d bytes, so much is kept in memory for every job that runs", o.OutputLimit, maxOutputLimit)
	}
	if o.SuccessBody != nil && o.OutputLimit == 0 {
		bad("output_limit = 0: want more, success_body is looked for in the output that is kept")
	}
	if o.SuccessBody != nil && delimited.MatchString(o.SuccessBody.String()) {
		bad("success_body = %q: want the pattern without PHP's delimiters; (?i) in front is for /i", o.SuccessBody)
	}
	return errors.Join(errs...)
}

// validateWorkers checks what only resident workers need. It holds in mode request, too: [defaults] is for both.
func (o TopicOptions) validateWorkers() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if o.Mode == ModeWorker && !o.Bridge {
		bad("mode = %q: want %q with bridge = false, it is the bridge that stays and takes job after job", o.Mode, ModeRequest)
	}
	if o.MinWorkers < 0 || o.Workers > 0 && o.MinWorkers > o.Workers {
		bad("min_workers = %d: want 0 to workers = %d", o.MinWorkers, o.Workers)
	}
	if o.IdleTimeout <= 0 {
		bad("idle_timeout = %q: want more than zero", o.IdleTimeout)
	}
	if o.MaxJobs < 1 {
		bad("max_jobs = %d: want at least 1", o.MaxJobs)
	}
	if o.MaxAge <= 0 {
		bad("max_age = %q: want more than zero", o.MaxAge)
	}
	if o.MaxMemory < 0 {
		bad("max_memory = %d: want a number of bytes, or 0 for no limit", o.MaxMemory)
	}
	return errors.Join(errs...)
}

func (m Mode) known() bool {
	switch m {
	case ModeRequest, ModeWorker:
		return true
	}
	return false
}

// absolute reports that p names something below the root and holds no //, . or .. that would let it name another file.
func absolute(p string) bool {
	return len(p) > 1 && len(p) <= maxPath && path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

func hostPort(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	n, perr := strconv.Atoi(port)
	return err == nil && perr == nil && host != "" && n >= 1 && n <= 65535
}

// loopback reports that addr is a TCP address of this host that the same host alone can reach; port 0 is any.
func loopback(addr string) bool {
	addr, isTCP := strings.CutPrefix(addr, "tcp://")
	host, port, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	n, perr := strconv.Atoi(port)
	return isTCP && err == nil && perr == nil && n >= 0 && n <= 65535 && ip != nil && ip.IsLoopback()
}
