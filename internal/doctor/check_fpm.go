package doctor

import (
	"errors"
	"io/fs"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/internal/plural"
)

// checkPool is about one pool, and what its PHP says.
func checkPool(all *findings, f Facts, p Pool) {
	where := "fpm " + p.Opts.Name
	if p.Survey.Err != nil {
		found := all.say("fpm-down", where, "%s: %v", p.Opts.Listen, p.Survey.Err)
		if p.Socket != nil {
			found.Found += "; the socket is " + p.Socket.describe()
		}
		if errors.Is(p.Survey.Err, fs.ErrPermission) {
			found.do("%s", kindOf("fpm-socket-user").Do)
		}
		return
	}
	checkSocketUser(all, where, p, f.Host)
	checkConf(all, where, p)
	checkStatus(all, where, p)
	checkStaying(all, where, p)
	checkBridge(all, where, p)
	if p.PHP != nil {
		checkPHP(all, where, f, p)
	}
}

func (s *SocketFile) describe() string {
	return "s" + s.Mode.Perm().String()[1:] + " of uid " + strconv.Itoa(s.UID) + ", gid " + strconv.Itoa(s.GID)
}

// admits reports that a user of these groups may connect: that takes the right to write.
func (s *SocketFile) admits(uid int, gids []int) bool {
	mode := s.Mode.Perm()
	switch {
	case uid == 0:
		return true
	case uid == s.UID:
		return mode&0o200 != 0
	case slices.Contains(gids, s.GID):
		return mode&0o020 != 0
	}
	return mode&0o002 != 0
}

// checkSocketUser looks whether the service, too, could connect.
func checkSocketUser(all *findings, where string, p Pool, h Host) {
	if h.Service == nil || h.Service.UID < 0 || p.Socket == nil || p.Socket.admits(h.Service.UID, h.Service.GIDs) {
		return
	}
	all.say("fpm-socket-user", where, "%s is %s, and the service runs as %s, uid %d", p.Opts.Listen, p.Socket.describe(), h.Service.User, h.Service.UID)
}

// checkConf is about php-fpm.conf and the pool's file.
func checkConf(all *findings, where string, p Pool) {
	if p.ConfErr != nil {
		all.say("fpm-unread", where, "php-fpm.conf: %v", p.ConfErr)
	}
	if p.Global != nil {
		if limit := p.Global["process_control_timeout"]; !isUntold(limit) && seconds(limit) == 0 {
			all.say("fpm-reload", where, "process_control_timeout is 0 in %s", p.ConfPath)
		}
	}
	if p.Conf == nil {
		return
	}
	checkChildren(all, where, p)
	checkTerminate(all, where, p)
	checkAllowed(all, where, p)
	if p.Conf["pm"] == "ondemand" {
		all.say("fpm-spawn", where, "pm is ondemand")
	}
	if spare := number(p.Conf["pm.max_spare_servers"]); p.Conf["pm"] == "dynamic" && spare < int64(p.Opts.Children) {
		all.say("fpm-spawn", where, "pm is dynamic, and keeps %d idle children; jobs may use %d", spare, p.Opts.Children)
	}
	if p.Opts.Status == "" {
		missing := "status is not set"
		if p.Conf["pm.status_path"] == "" {
			missing = "status is not set, nor pm.status_path in the pool's file"
		}
		all.say("fpm-status", where, "%s", missing).do(`pm.status_path = /status in the pool's file, and status = "/status" in [fpm.%s]`, p.Opts.Name)
	}
}

func checkChildren(all *findings, where string, p Pool) {
	most := int(number(p.Conf["pm.max_children"]))
	switch {
	case most == 0:
	case p.Opts.Children > most:
		all.say("fpm-children", where, "children = %d, and the pool's pm.max_children is %d", p.Opts.Children, most).
			do("children = %d in [fpm.%s], or raise pm.max_children", most, p.Opts.Name)
	case p.Opts.Children == most && p.servesWeb():
		all.say("fpm-children-all", where, "children = %d, which are all of the pool's", p.Opts.Children)
	}
}

// checkTerminate compares request_terminate_timeout with what jobs may take.
func checkTerminate(all *findings, where string, p Pool) {
	limit := seconds(p.Conf["request_terminate_timeout"])
	if limit == 0 {
		return
	}
	for _, t := range p.Topics {
		longest := longestRun(t)
		switch {
		case t.FPM.Mode == fastcgi.ModeWorker:
			all.say("fpm-terminate", where, "request_terminate_timeout is %s; topic %s has workers that stay, each in one request", limit, t.Name).
				do("set request_terminate_timeout = 0 in the pool's file")
		case limit <= longest:
			all.say("fpm-terminate", where, "request_terminate_timeout is %s; topic %s lets jobs run for %s", limit, t.Name, longest)
		}
	}
}

func longestRun(t config.Topic) time.Duration {
	longest := t.FPM.Timeout
	for _, route := range t.FPM.Routes {
		longest = max(longest, route.Timeout)
	}
	return longest
}

// checkAllowed is about listen.allowed_clients of a pool on TCP.
func checkAllowed(all *findings, where string, p Pool) {
	allowed := p.Conf["listen.allowed_clients"]
	network, name, _ := strings.Cut(p.Opts.Listen, "://")
	host, _, err := net.SplitHostPort(name)
	if allowed == "" || network == "unix" || err != nil {
		return
	}
	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return // our address there is not known here
	}
	for one := range strings.SplitSeq(allowed, ",") {
		if listed := net.ParseIP(strings.TrimSpace(one)); listed != nil && (ip == nil && listed.IsLoopback() || listed.Equal(ip)) {
			return
		}
	}
	all.say("fpm-allowed-clients", where, "listen.allowed_clients is %s, and the sidecar comes from %s", allowed, host)
}

// checkStatus is about the status page.
func checkStatus(all *findings, where string, p Pool) {
	if err := p.Survey.PageErr; err != nil {
		all.say("fpm-status-refused", where, "status = %q: %v", p.Opts.Status, err)
	}
	page := p.Survey.Page
	if page == nil {
		return
	}
	if page.Queue > 0 {
		all.say("fpm-queue", where, "%s", plural.Of(page.Queue, "request waits", "requests wait"))
	}
	// A static pool counts having all its children from the start on.
	if page.Reached > 0 && page.Mode != "static" {
		all.say("fpm-limit-reached", where, "pm.max_children was reached %s", plural.Of(page.Reached, "time", "times"))
	}
	if page.Slow > 0 {
		all.say("fpm-slow", where, "%s slow", plural.Of(page.Slow, "request was", "requests were"))
	}
	if p.servesWeb() {
		all.say("fpm-web", where, "its children serve scripts that are no jobs")
	}
}

// servesWeb reports that the pool's children serve, or served last, scripts that are neither jobs nor the sidecar's own.
func (p *Pool) servesWeb() bool {
	if p.Survey.Page == nil {
		return false
	}
	own := append(p.files(), "", "-", p.Conf["pm.status_path"], p.Opts.BridgePath)
	return slices.ContainsFunc(p.Survey.Page.Children, func(s fastcgi.Served) bool {
		return !slices.Contains(own, s.Script) && !ourFile.MatchString(s.Script)
	})
}

// ourFile matches the sidecar's own PHP files: as it names them in bridge_dir, or deployed, and what it asks for to see
// whether FPM answers.
var ourFile = regexp.MustCompile(`/((bridge|spool|doctor)(-[0-9a-f]{16})?\.php|sidecar-ping)$`)

// checkStaying is about workers that stay and leave no child to others.
func checkStaying(all *findings, where string, p Pool) {
	staying, others := 0, 0
	for _, t := range p.Topics {
		if t.FPM.Mode == fastcgi.ModeWorker && t.FPM.MinWorkers > 0 {
			staying += t.FPM.MinWorkers
		} else {
			others++
		}
	}
	if staying > p.Opts.Children || staying == p.Opts.Children && others > 0 {
		all.say("fpm-workers", where, "min_workers of its topics come to %d, children is %d, and %s none that stay", staying, p.Opts.Children, plural.Of(others, "topic has", "topics have"))
	}
}

// seconds reads a time of php-fpm.conf.
func seconds(text string) time.Duration {
	unit := time.Second
	switch {
	case strings.HasSuffix(text, "m"):
		unit = time.Minute
	case strings.HasSuffix(text, "h"):
		unit = time.Hour
	case strings.HasSuffix(text, "d"):
		unit = 24 * time.Hour
	}
	return time.Duration(number(strings.TrimRight(text, "smhd"))) * unit
}
