package doctor

import (
	"strings"
	"time"

	"sidecar/internal/plural"
)

// checkConfig is about what the configuration says, looked at alone.
func checkConfig(all *findings, f Facts) {
	for _, w := range f.Config.Warnings() {
		where, found, ok := strings.Cut(w, ": ")
		if !ok {
			where, found = f.Config.Path, w
		}
		all.say("config-doubtful", where, "%s", found)
	}
	for _, t := range f.Topics {
		switch lease := t.Queue.Lease; {
		case lease > leaseMost:
			all.say("lease-long", "topic "+t.Name, "lease is %s", lease)
		case lease < leaseLeast:
			all.say("lease-short", "topic "+t.Name, "lease is %s", lease)
		}
	}
}

// leaseLeast and leaseMost are leases that are hardly meant.
const (
	leaseLeast = 10 * time.Second
	leaseMost  = 5 * time.Minute
)

// checkHost is about this host and the service on it.
func checkHost(all *findings, f Facts) {
	h := f.Host
	if h.PIDFile != "" {
		all.say("pid-file", f.Config.Path, "pid_file: %s", h.PIDFile)
	}
	if h.UndoDir != "" {
		all.say("undo-dir", f.Config.Path, "admin.undo_dir = %q: %s", f.Config.Admin.UndoDir, h.UndoDir)
	}
	limit := h.MaxFiles
	if s := h.Service; s != nil {
		checkService(all, f, s)
		if s.MaxFiles > 0 {
			limit = s.MaxFiles
		}
	}
	if need := filesNeeded(f); limit > 0 && limit < need {
		all.say("host-files", "host", "%d files may be open at once; for all workers it takes up to %d", limit, need)
	}
}

func checkService(all *findings, f Facts, s *Service) {
	if s.StopTimeout > 0 && s.StopTimeout <= f.Config.Grace {
		all.say("grace-service", "host", "%s: TimeoutStopSec is %s, grace is %s", s.Path, s.StopTimeout, f.Config.Grace)
	}
	switch {
	case s.UID < 0 && !s.Dynamic && !f.Host.NamesElsewhere:
		all.say("service-unknown", "host", "%s: User=%s is no user of this host", s.Path, s.User)
	case s.UID >= 0 && f.Host.UID != s.UID && f.Host.UID != 0:
		all.say("service-user", "host", "this is uid %d, the service runs as %s", f.Host.UID, s.User).do("sudo -u %s sidecar doctor", s.User)
	}
}

// filesNeeded is how many files the sidecar has open at most, roughly: a connection to FPM and one to Redis for each
// job, a few for each topic, and the rest.
func filesNeeded(f Facts) uint64 {
	n := 100
	for _, t := range f.Config.Topics {
		n += 4 + 3*t.Queue.Workers
	}
	return uint64(n) //nolint:gosec // it is no less than 100
}

// checkSpools is about the tables that PHP stores jobs in while Redis is away.
func checkSpools(all *findings, f Facts) {
	for _, s := range f.Spools {
		where := "spool " + s.Name
		switch {
		case s.Err != nil:
			all.say("spool-unreachable", where, "%v", s.Err)
		case s.Rows > 0 && (s.Manual || s.Oldest > lateLeast):
			all.say("spool-waiting", where, "%s, the oldest since %s", plural.Of(s.Rows, "row waits", "rows wait"), s.Oldest.Round(time.Second)).
				do("sidecar spool drain %s, or set drain_every", s.Name)
		}
	}
}
