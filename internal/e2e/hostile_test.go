package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// evil is in every hostile text, so that it can be looked for wherever it must not be.
const evil = "evilmark"

// hostileUUIDs are what somebody writes who hopes that a uuid becomes a header, a path, a line or a pattern.
func hostileUUIDs() []any {
	return []any{
		evil + "\r\nStatus: 500\r\nX-Evil: 1", "../../../../tmp/" + evil, evil + "\x00tail", "\x1b]0;" + evil + "\x07",
		evil + ` level=ERROR msg="` + evil + `"`, strings.Repeat(evil, 2000), "{" + evil + "}", evil + "*?[a]", "\u202e" + evil,
		"", 12345,
		[]string{evil},
		map[string]int{evil: 1},
		nil, true,
	}
}

// hostileJobs are jobs whose every field wants to be something else, for each uuid one that is done and one that fails.
func hostileJobs(t *testing.T) (texts []string) {
	t.Helper()
	for _, uuid := range hostileUUIDs() {
		for _, fail := range []bool{false, true} {
			text, err := json.Marshal(map[string]any{
				"uuid": failing(uuid, fail), "fail": fail, "say": evil + "\r\n\x1b[2J\u009b31m\nlevel=ERROR\x00", "topic": "../" + evil,
				"PHP_VALUE": "auto_prepend_file=/tmp/" + evil, "PHP_ADMIN_VALUE": "open_basedir=/" + evil,
				"HTTP_PROXY": "http://" + evil + "/", "HTTP_COOKIE": "a=" + evil, "SCRIPT_FILENAME": "/etc/" + evil,
				"REQUEST_BODY_FILE": "/etc/passwd", "SIDECAR_BRIDGE": `{"mode":"kill","pid":1}`, "QUERY_STRING": evil,
				"last_error": evil + "\x1b[31m", "replayed_at": evil, "trace": evil, "key": "delay:pool:" + evil,
			})
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	return texts
}

// failing is another uuid for a job that fails: the mark of one that is done would end both.
func failing(uuid any, fail bool) any {
	switch known := uuid.(type) {
	case string:
		if fail {
			return known + "x"
		}
	case int:
		if fail {
			return known + 1
		}
	}
	return uuid
}

// hostileTexts are no jobs at all.
func hostileTexts() []string {
	return []string{
		evil + " \x1b[2J no JSON", "\xff\xfe" + evil, `"` + evil + `"`, `a:1:{s:8:"` + evil + `";}`, `{"uuid":"` + evil,
		`["` + evil + `"]`, "\r\nlevel=ERROR msg=" + evil + "\r\n", `{"job":{"uuid":"` + evil + `"},"x":` + "\x00}",
	}
}

// What a job says stays in the job: it is no parameter, header, path, log line, metric label or key, but for its uuid
// at the end of the mark (CONTRACT 1.4).
func TestWhatAJobSaysBecomesNothingElse(t *testing.T) {
	for _, mode := range []string{"request", "worker"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			r.mode, r.script = mode, "hostile.php"
			r.copyScript("hostile.php")
			r.openFile("seen.log")
			config := r.config(`log_level = "debug"`, "idempotency = \"on\"\nretry = [\"50ms\"]\n")
			p := r.start(config)
			p.wantReady(20 * time.Second)
			before, files := series(t, p), r.files()
			ctx := context.Background()
			jobs, texts := hostileJobs(t), hostileTexts()
			for _, text := range append(slices.Clone(jobs), texts...) {
				if err := r.rdb.RPush(ctx, "delay:ready:"+topic, text).Err(); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, 40*time.Second, func() error {
				want := int64(len(texts) + len(jobs)/2)
				if d := r.depths(); d.pool+d.ready+d.running != 0 || d.dead != want {
					return fmt.Errorf("keys hold %+v, want %d dead and nothing else", d, want)
				}
				return nil
			})
			r.wantUntouchedScenes()
			r.wantQuietLog(p)
			if added := without(series(t, p), before); len(added) > 0 {
				t.Errorf("series that were not there before: %q", added)
			}
			if added := without(r.files(), append(files, filepath.Join(r.dir, "seen.log"))); len(added) > 0 {
				t.Errorf("files that were not there before: %q", added)
			}
			r.wantOnlyKnownKeys()
			r.wantQuietVerbs(config)
		})
	}
}

// openFile makes a file that FPM's children may write.
func (r *rig) openFile(name string) {
	r.t.Helper()
	if err := os.Chmod(r.write(name, ""), 0o666); err != nil {
		r.t.Fatal(err)
	}
}

// wantUntouchedScenes checks what the runs found around them: the same names for all, and nothing of any job's.
func (r *rig) wantUntouchedScenes() {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "seen.log"))
	if err != nil {
		r.t.Fatal(err)
	}
	plain := regexp.MustCompile(`^[A-Za-z0-9._:-]{0,128}$`)
	names := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var seen struct {
			Server, Env, INI, Headers []string
			Cookies, Get, Post        any
			Values, UUID, Topic, CWD  string
		}
		if err := json.Unmarshal([]byte(line), &seen); err != nil {
			r.t.Fatalf("%v: %s", err, line)
		}
		names[strings.Join(seen.Server, " ")+"|"+strings.Join(seen.Env, " ")]++
		if strings.Contains(line, evil) || strings.Contains(line, "/etc/passwd") {
			r.t.Errorf("a run sees its job's words around it: %s", line)
		}
		if !plain.MatchString(seen.UUID) || seen.Topic != topic || seen.CWD != r.dir || strings.Join(seen.INI, "") != "" {
			r.t.Errorf("uuid %q, topic %q, directory %s, ini %q", seen.UUID, seen.Topic, seen.CWD, seen.INI)
		}
		if fmt.Sprint(seen.Cookies, seen.Get, seen.Post) != "[] [] []" {
			r.t.Errorf("cookies %v, get %v, post %v", seen.Cookies, seen.Get, seen.Post)
		}
	}
	if len(names) != 1 {
		r.t.Errorf("the runs saw different parameters: %v", slices.Collect(maps.Keys(names)))
	}
}

// wantQuietLog checks that each line is one event, and none has words of a job.
func (r *rig) wantQuietLog(p *instance) {
	r.t.Helper()
	for _, line := range p.lines() {
		if !strings.HasPrefix(line, "time=") || strings.Contains(line, evil) || strings.ContainsFunc(line, isControl) {
			r.t.Errorf("log line %q", line)
		}
	}
	if p.count("run ended") == 0 || p.count("text is no job") == 0 {
		r.t.Error("the log tells of no run, or of no text that is no job")
	}
}

func isControl(c rune) bool {
	return c < ' ' && c != '\n' && c != '\t' || c >= 0x7f && c < 0xa0 || c == 0x202e
}

// wantOnlyKnownKeys checks that there is no key beyond the topic's, the marks of the jobs' own uuids, and what sidecars tell
// of themselves, which holds no job's words.
func (r *rig) wantOnlyKnownKeys() {
	r.t.Helper()
	allowed := map[string]bool{"delay:dead:" + topic: true}
	for _, uuid := range hostileUUIDs() {
		allowed[fmt.Sprintf("idem:%s:%v", topic, uuid)] = true
	}
	keys, err := r.rdb.Keys(context.Background(), "*").Result()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, key := range keys {
		switch {
		case ofPulse("", key):
			if told := fmt.Sprint(r.rdb.HGetAll(context.Background(), key).Val()); strings.Contains(told, evil) {
				r.t.Errorf("%s tells %q", key, told)
			}
		case !allowed[key]:
			r.t.Errorf("a key that no contract knows: %q", key)
		}
	}
	for _, record := range r.rdb.LRange(context.Background(), "delay:dead:"+topic, 0, -1).Val() {
		// C1 stays as PHP writes it, unescaped (CONTRACT 1.3).
		if strings.ContainsFunc(record, func(c rune) bool { return c < ' ' }) {
			r.t.Errorf("a dead record acts on the terminal that shows it: %q", record)
		}
	}
}

// wantQuietVerbs checks what an operator sees who looks at the dead and replays them.
func (r *rig) wantQuietVerbs(config string) {
	r.t.Helper()
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"replay", topic, "--dry-run"}, {"replay", topic, "--limit", "3"}} {
		cmd := exec.Command(binary, append(args, "-c", config)...)
		cmd.Dir = r.t.TempDir() // where undo files go
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) == 0 {
			r.t.Errorf("%v: %v\n%s", args, err, out)
		}
		if text := string(out); strings.ContainsFunc(text, isControl) || strings.Contains(text, evil) {
			r.t.Errorf("%v shows %q", args, text)
		}
	}
}

// series returns the names and labels of all metrics.
func series(t *testing.T, p *instance) (names []string) {
	t.Helper()
	_, body, err := p.get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(body) {
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			names = append(names, line[:at])
		}
	}
	return names
}

// files returns all files of the shop but sockets, whose names are new each time.
func (r *rig) files() (paths []string) {
	r.t.Helper()
	for _, dir := range []string{r.dir, filepath.Join(r.fpm.Dir, "bridge")} {
		found, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			r.t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	return paths
}

func without(list, known []string) (rest []string) {
	for _, s := range list {
		if !slices.Contains(known, s) {
			rest = append(rest, s)
		}
	}
	return rest
}
