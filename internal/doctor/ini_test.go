package doctor

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/config"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// As the images of PHP have it: a prefix that only FPM knows, and includes that begin there.
func TestFPMsFilesAreReadWithTheirIncludes(t *testing.T) {
	root := t.TempDir()
	writeFile(t, filepath.Join(root, "usr/local/etc/php-fpm.conf"), "; a comment\n[global]\nprocess_control_timeout = 10s ; why\ninclude=etc/php-fpm.d/*.conf\n")
	writeFile(t, filepath.Join(root, "usr/local/etc/php-fpm.d/a.conf"), "[www]\nlisten = /run/$pool.sock\nphp_admin_value[error_log] = \"/var/log/a;b.log\"\n")
	writeFile(t, filepath.Join(root, "usr/local/etc/php-fpm.d/b.conf"), "[www]\npm.max_children=7\n[jobs]\nlisten = 9001\n")
	conf := ini{}
	if err := (iniReader{root: root}).read("/usr/local/etc/php-fpm.conf", conf); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ section, key, value string }{
		{"global", "process_control_timeout", "10s"},
		{"www", "listen", "/run/www.sock"},
		{"www", "pm.max_children", "7"},
		{"www", "php_admin_value[error_log]", "/var/log/a;b.log"},
		{"jobs", "listen", "9001"},
	} {
		if got := conf[want.section][want.key]; got != want.value {
			t.Errorf("[%s] %s: got %q, want %q", want.section, want.key, got, want.value)
		}
	}
}

// As images have it: what the environment is not seen to hold is unknown, and no zero.
func TestVariablesInFPMsFilesAreExpandedWhereTheyAreKnown(t *testing.T) {
	root := t.TempDir()
	writeFile(t, filepath.Join(root, "fpm.conf"), "[www]\npm.max_children = ${CHILDREN}\npm = ${PM:-static}\n")
	conf := ini{}
	err := (iniReader{root: root, env: map[string]string{"CHILDREN": "7"}}).read("/fpm.conf", conf)
	if err == nil || conf["www"]["pm.max_children"] != "7" || !isUntold(conf["www"]["pm"]) {
		t.Errorf("got %v, %v", conf, err)
	}
}

func TestAServiceHasTheGroupsThatItsUnitAdds(t *testing.T) {
	s := newService("sidecar.service", section{"User": "root", "SupplementaryGroups": "adm 4711", "LimitNOFILE": "infinity", "TimeoutSec": "3min"})
	if !slices.Contains(s.GIDs, 4711) || s.MaxFiles != math.MaxUint64 || s.StopTimeout != 3*time.Minute {
		t.Errorf("got %+v", s)
	}
}

func TestUsersOfADirectoryServiceAreNotSaidToBeMissing(t *testing.T) {
	root := t.TempDir()
	for text, want := range map[string]bool{"passwd: files systemd\n": false, "group: sss\npasswd:\tfiles sss\n": true, "passwd: files [NOTFOUND=return]\n": false} {
		writeFile(t, filepath.Join(root, "etc/nsswitch.conf"), text)
		if got := namesElsewhere(root); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

// Redis that answers no more is no lack of rights, and the topics from there on are none that all is well with.
func TestTopicsThatCouldNotBeLookedAtAreSaidToBe(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer rdb.Close()
	q := &inquirer{cfg: &config.Config{}}
	all, lost := q.topics(t.Context(), rdb, make([]config.Topic, 3))
	if len(all) > 0 || lost == nil || !strings.Contains(lost.Error(), "3 of 3 topics") {
		t.Errorf("got %+v, %v", all, lost)
	}
}

func TestFilesThatIncludeThemselvesAreAnError(t *testing.T) {
	root := t.TempDir()
	writeFile(t, filepath.Join(root, "a.conf"), "include = /a.conf\n")
	if err := (iniReader{root: root}).read("/a.conf", ini{}); err == nil {
		t.Error("want an error")
	}
}

func TestListensAreTheSameHoweverTheyAreWritten(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "run/a.sock"), "")
	if err := os.Symlink(filepath.Join(dir, "run"), filepath.Join(dir, "varrun")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ours, theirs string
		want         bool
	}{
		{"unix://" + dir + "/varrun/a.sock", dir + "/run/a.sock", true},
		{"unix://" + dir + "/run/a.sock", dir + "/run/b.sock", false},
		{"unix:///run/a.sock", "", false},
		{"tcp://127.0.0.1:9000", "9000", true},
		{"tcp://127.0.0.1:9000", "[::]:9000", true},
		{"tcp://127.0.0.1:9000", "127.0.0.1:9001", false},
	} {
		if got := sameListen(tt.ours, tt.theirs); got != tt.want {
			t.Errorf("%s and %s: got %t", tt.ours, tt.theirs, got)
		}
	}
}

func TestTimesAreReadAsEachProgramWritesThem(t *testing.T) {
	for text, want := range map[string]time.Duration{"": defaultStop, "30": 30 * time.Second, "1min 30s": 90 * time.Second, "infinity": 0, "500ms": 500 * time.Millisecond, "2h": 2 * time.Hour} {
		if got := systemdTime(text); got != want {
			t.Errorf("systemd's %q: got %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]time.Duration{"": 0, "0": 0, "10": 10 * time.Second, "10s": 10 * time.Second, "2m": 2 * time.Minute, "1h": time.Hour, "1d": 24 * time.Hour} {
		if got := seconds(text); got != want {
			t.Errorf("FPM's %q: got %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]int64{"128M": 128 << 20, "1g": 1 << 30, "-1": -1, "": 0, "2k": 2048, "77": 77} {
		if got := phpBytes(text); got != want {
			t.Errorf("PHP's %q: got %d, want %d", text, got, want)
		}
	}
}

func TestASocketAdmitsByItsModeAsTheKernelDoes(t *testing.T) {
	s := SocketFile{Mode: os.ModeSocket | 0o660, UID: 33, GID: 44}
	for _, tt := range []struct {
		uid  int
		gids []int
		want bool
	}{{0, nil, true}, {33, nil, true}, {34, []int{1, 44}, true}, {34, []int{1}, false}} {
		if got := s.admits(tt.uid, tt.gids); got != tt.want {
			t.Errorf("uid %d, gids %v: got %t", tt.uid, tt.gids, got)
		}
	}
}
