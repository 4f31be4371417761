package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sidecar/internal/config"
	"sidecar/internal/proc"
)

// unitDirs are where systemd looks for units, the first one wins; drop-ins count from all.
var unitDirs = []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/lib/systemd/system", "/usr/lib/systemd/system"}

// lookAtHost reads what there is to know of this host.
func lookAtHost(cfg *config.Config, root string) Host {
	h := Host{UID: os.Geteuid(), Service: findService(root), PIDFile: pidFileFault(cfg.PIDFile)}
	if cfg.Admin.MayWrite() {
		h.UndoDir = undoDirFault(cfg.Admin.UndoDir)
	}
	h.NamesElsewhere = namesElsewhere(root)
	h.Hugepages = firstLine(filepath.Join(root, "sys/kernel/mm/transparent_hugepage/enabled"))
	h.Overcommit = firstLine(filepath.Join(root, "proc/sys/vm/overcommit_memory"))
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil {
		h.MaxFiles = limit.Max // Go raises the soft one to it
	}
	return h
}

// namesElsewhere reports that users of this host may be in other places than its own file, which is all that this program reads.
func namesElsewhere(root string) bool {
	text, err := os.ReadFile(filepath.Join(root, "etc/nsswitch.conf"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		sources, isUsers := strings.CutPrefix(strings.TrimSpace(line), "passwd:")
		for source := range strings.FieldsSeq(sources) {
			if isUsers && source != "files" && source != "compat" && source != "systemd" && source[0] != '[' {
				return true
			}
		}
	}
	return false
}

// undoDirFault says why this user cannot write into dir, or make it. It makes nothing.
func undoDirFault(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
			continue
		}
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err == nil {
			err = syscall.Access(at, writeAndEnter)
		}
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		if err != nil {
			return fmt.Sprintf("%s: %v", at, err)
		}
		return ""
	}
}

const writeAndEnter = 0o3 // W_OK | X_OK

func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

// findService reads the unit sidecar.service with its drop-ins; nil where there is none.
func findService(root string) *Service {
	unit := ini{}
	path := ""
	for _, dir := range unitDirs {
		if (iniReader{root: root}).read(filepath.Join(dir, "sidecar.service"), unit) == nil {
			path = filepath.Join(dir, "sidecar.service")
			break
		}
	}
	if path == "" {
		return nil
	}
	for _, dir := range slices.Backward(unitDirs) {
		dropIns, _ := filepath.Glob(filepath.Join(root, dir, "sidecar.service.d", "*.conf"))
		for _, file := range dropIns {
			_ = iniReader{}.read(file, unit) // one that cannot be read changes nothing here
		}
	}
	return newService(path, unit["Service"])
}

// newService reads what the unit says.
func newService(path string, s section) *Service {
	service := &Service{Path: path, User: s["User"], UID: -1, StopTimeout: systemdTime(cmp.Or(s["TimeoutStopSec"], s["TimeoutSec"])), Dynamic: on(s["DynamicUser"])}
	if service.User == "" {
		service.User = "root"
	}
	u, err := user.Lookup(service.User)
	if err != nil {
		u, err = user.LookupId(service.User)
	}
	if err == nil {
		service.UID, _ = strconv.Atoi(u.Uid)
		groups, _ := u.GroupIds()
		groups = append(groups, s["Group"])
		for _, name := range append(groups, strings.Fields(s["SupplementaryGroups"])...) {
			if g, err := user.LookupGroup(name); err == nil {
				name = g.Gid
			}
			if gid, err := strconv.Atoi(name); err == nil {
				service.GIDs = append(service.GIDs, gid)
			}
		}
	}
	_, hard, ok := strings.Cut(s["LimitNOFILE"], ":")
	if !ok {
		hard = s["LimitNOFILE"]
	}
	service.MaxFiles, _ = strconv.ParseUint(hard, 10, 64)
	if hard == "infinity" {
		service.MaxFiles = math.MaxUint64
	}
	return service
}

// defaultStop is systemd's DefaultTimeoutStopSec.
const defaultStop = 90 * time.Second

var timeSpan = regexp.MustCompile(`([0-9]+)\s*(ms|s|sec|min|m|h|hr)?`)

// systemdTime reads a time span; 0 is for ever.
func systemdTime(text string) time.Duration {
	if text == "" {
		return defaultStop
	}
	var sum time.Duration
	for _, m := range timeSpan.FindAllStringSubmatch(text, -1) {
		unit := time.Second
		switch m[2] {
		case "ms":
			unit = time.Millisecond
		case "min", "m":
			unit = time.Minute
		case "h", "hr":
			unit = time.Hour
		}
		n, _ := strconv.Atoi(m[1])
		sum += time.Duration(n) * unit
	}
	return sum
}

// pidFileFault says what is wrong with a pid file: the release script that reads it would signal the wrong process, or none.
func pidFileFault(path string) string {
	if path == "" {
		return ""
	}
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return "" // the sidecar does not run
	}
	if err != nil {
		return err.Error()
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 1 {
		return fmt.Sprintf("%s holds no pid", path)
	}
	if _, err := proc.Read(pid); err != nil {
		return fmt.Sprintf("%s names process %d, which does not run", path, pid)
	}
	if command, err := proc.Command(pid); err == nil && !strings.Contains(command, "sidecar") {
		return fmt.Sprintf("%s names process %d, which is no sidecar", path, pid)
	}
	return ""
}
