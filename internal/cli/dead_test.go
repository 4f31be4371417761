package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sidecar/compat"
	"sidecar/internal/cli"
	"sidecar/queue"
)

const (
	timeoutDead = "delay:dead:order_timeout"
	timeoutPool = "delay:pool:order_timeout"
)

// dead puts a record of a job with this uuid into the topic's dead and returns it.
func (s shop) dead(uuid, reason, at string) string {
	s.t.Helper()
	record := fmt.Sprintf(`{"job":{"uuid":%q,"type":"order","retry":6,"secret":1},"error":%q,"trace":"#0 secret","at":%q}`, uuid, reason, at)
	s.do("RPUSH", timeoutDead, record)
	return record
}

// undoFile returns the one undo file in dir.
func undoFile(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "sidecar-undo-*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("undo files %q, %v; want one", found, err)
	}
	if info, err := os.Stat(found[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v; want it readable by its owner only", found[0], info.Mode(), err)
	}
	return found[0]
}

// trail returns who did what, the newest first.
func (s shop) trail() (lines []string) {
	s.t.Helper()
	audited, err := queue.NewAudit(s.Client, "").Recent(s.t.Context(), 100)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, a := range audited {
		if !strings.HasPrefix(a.By, "cli ") || !strings.Contains(a.By, "@") {
			s.t.Errorf("by %q", a.By)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %d %s %s", a.Verb, a.Topic, a.Count, a.Filter, a.Note)))
	}
	return lines
}

func TestDeadListKeepsToItsFilters(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.dead("a", "no money", "2026-10-29 12:00:00")
	s.dead("b", "No Money left", "2026-10-30 12:00:00")
	s.dead("c", "segfault", "2026-10-30 13:00:00")
	for want, args := range map[string][]string{
		"b a":   {"--error", "no money"},
		"c b":   {"--since", "2026-10-30"},
		"a":     {"--until", "2026-10-29 12:00:00"},
		"b":     {"--error", "MONEY", "--since", "2026-10-30 00:00"},
		"c a":   {"--uuid", "a", "--uuid", "c"},
		"c":     {"--limit", "1"},
		"c b a": {"--type", "order", "--until", "0s"},
		"":      {"--type", "mail"},
	} {
		var got struct{ Dead []struct{ UUID string } }
		text := s.verb(0, nil, append([]string{"dead", "list", "order_timeout", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		var uuids []string
		for _, d := range got.Dead {
			uuids = append(uuids, d.UUID)
		}
		if strings.Join(uuids, " ") != want {
			t.Errorf("%q lists %q, want %q", args, uuids, want)
		}
	}
	s.verb(0, []string{"order_timeout has no such dead jobs\n"}, "dead", "list", "order_timeout", "--type", "mail")
	s.do("DEL", timeoutDead)
	s.verb(0, []string{"order_timeout has no dead jobs\n"}, "dead", "list", "order_timeout")
	s.verb(2, []string{"want a topic, got none"}, "dead", "list")
	s.verb(2, []string{`want a topic, got "a", "b"`}, "dead", "list", "a", "b")
	s.verb(2, []string{`--like " \n": want an error`}, "dead", "drop", "order_timeout", "--like", " \n", "--yes")
	s.verb(2, []string{`--since "yesterday": want a time such as`}, "dead", "list", "order_timeout", "--since", "yesterday")
	// The zero time would be no bound at all.
	s.verb(2, []string{`--until "0001-01-01": want a time`, "not before 1970"}, "dead", "drop", "order_timeout", "--until", "0001-01-01")
	s.verb(2, []string{`--since "0001-01-01T00:00:00Z": want a time`}, "dead", "list", "order_timeout", "--since", "0001-01-01T00:00:00Z")
}

func TestTheLineThatUndoesCanBeCopiedIntoAShell(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "Ann's $HOME")
	s.config = filepath.Join(dir, "side car.toml")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(s.config, text, 0o644)); err != nil {
		t.Fatal(err)
	}
	a := s.dead("a", "x", "2026-11-29 12:00:00")
	got := sidecar(t, "", "dead", "drop", "order_timeout", "--all", "--undo-dir", dir, "-c", s.config)
	line, found := strings.CutSuffix(strings.TrimSpace(got.stderr), " takes this back")
	if !found {
		t.Fatalf("it says %q", got.stderr)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = shellDir(t, "bash")
	cmd.Env = append(os.Environ(), "PATH="+cmd.Dir)
	if said, err := cmd.CombinedOutput(); err != nil || string(said) != "put back 1 job\n" {
		t.Errorf("%s\n%s%v", line, said, err)
	}
	s.wantList(timeoutDead, a)
}

// Somebody else drops the same jobs at the same time: that they are gone is what both want.
func TestJobsThatAreGoneMeanwhileAreNoFaultOfTheDrop(t *testing.T) {
	t.Parallel()
	s, p := newShop(t), newPTY(t)
	s.dead("a", "x", "2026-11-29 12:00:00")
	code := make(chan int)
	go func() {
		code <- cli.Main([]string{"dead", "drop", "order_timeout", "--uuid", "a", "--undo-dir", t.TempDir(), "-c", s.config},
			cli.Env{Stdin: p.sidecar, Stdout: p, Stderr: p, Version: "v-test"})
	}()
	p.await("Drop 1 dead job of order_timeout?")
	s.do("LPOP", timeoutDead)
	if _, err := p.person.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	if code := <-code; code != 0 {
		t.Errorf("exit %d", code)
	}
	p.await("1 job was taken by somebody else meanwhile")
	p.await("dropped 0 jobs")
	s.verb(1, []string{"none of these is among the dead jobs"}, "dead", "drop", "order_timeout", "--uuid", "a", "--undo-dir", t.TempDir())
}

func TestDeadShowShowsPayloadsOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.dead("a", "no money "+strings.Repeat("x", 500), "2026-11-29 12:00:00")
	plain := s.verb(0, []string{"a  order_timeout", "tries", strings.Repeat("x", 500)}, "dead", "show", "order_timeout", "a")
	if strings.Contains(plain, "secret") {
		t.Errorf("it shows a payload:\n%s", plain)
	}
	s.verb(0, []string{"trace:\n#0 secret", `payload:` + "\n" + `{"uuid":"a","type":"order","retry":6,"secret":1}`}, "dead", "show", "order_timeout", "a", "--payload")
	s.verb(0, []string{`"dead_since":"2026-11-29 12:00:00"`, `"trace":"#0 secret"`}, "dead", "show", "order_timeout", "a", "--payload", "--json")
	s.verb(1, []string{"b is not among the dead jobs of order_timeout"}, "dead", "show", "order_timeout", "b")
}

func TestAnOddUUIDGoesByWhatIsShownInItsPlace(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.dead("order/17\n", "no money", "2026-11-29 12:00:00")
	s.dead("a", "no money", "2026-11-29 12:00:00")
	shown := compat.PlainUUID("order/17\n")
	s.verb(0, []string{"dead replay order_timeout --uuid " + shown}, "find", shown)
	s.verb(0, []string{"no money"}, "dead", "show", "order_timeout", shown)
	s.verb(0, []string{"would drop 2 jobs"}, "dead", "drop", "order_timeout", "--uuid", shown, "--uuid", "a", "--dry-run")
	s.verb(0, []string{"replayed 1 job"}, "dead", "replay", "order_timeout", "--uuid", shown, "--undo-dir", t.TempDir())
}

// What has no uuid, or is no record at all, goes by the name that the list shows in its place.
func TestDeadRecordsWithoutAUUIDAreShownReplayedAndDroppedByTheirNames(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	nameless := `{"job":{"order_id":17},"error":"no money","trace":"","at":"2026-11-29 12:00:00"}`
	s.do("RPUSH", timeoutDead, `{"job":{"order_id":18},"error":"x"}`, nameless, "no record")
	other := s.dead("a", "no money", "2026-11-29 12:00:00")
	name := func(of string) string {
		t.Helper()
		var got struct {
			Dead []struct{ Name, Error string }
		}
		if err := json.Unmarshal([]byte(s.verb(0, nil, "dead", "list", "order_timeout", "--json")), &got); err != nil {
			t.Fatal(err)
		}
		for _, d := range got.Dead {
			if d.Error == of && d.Name != "" {
				s.verb(0, []string{d.Name}, "dead", "list", "order_timeout")
				return d.Name
			}
		}
		t.Fatalf("no record with error %q has a name: %+v", of, got)
		return ""
	}
	money, none, undated := name("no money"), name("not a dead record"), name("x")
	show := func(want []string, args ...string) {
		s.verb(0, want, append([]string{"dead", "show", "order_timeout"}, args...)...)
	}
	show([]string{money + "  order_timeout", "no money", "sidecar dead replay order_timeout --uuid " + money, "payload:\n" + `{"order_id":17}`}, money, "--payload")
	show([]string{none + "  order_timeout", "is no dead record", "sidecar dead drop order_timeout --uuid " + none, "payload:\nno record"}, none, "--payload")
	show([]string{"since a time that is not known because x"}, undated)
	s.verb(0, []string{money + "  order_timeout"}, "find", money)
	s.verb(0, []string{"would drop " + none + "\n", "would drop 1 job"}, "dead", "drop", "order_timeout", "--uuid", none, "--dry-run")
	s.verb(0, []string{"dropped 2 jobs"}, "dead", "drop", "order_timeout", "--uuid", none, "--uuid", undated, "--undo-dir", dir)
	s.verb(0, []string{"replayed 1 job"}, "dead", "replay", "order_timeout", "--uuid", money, "--undo-dir", dir)
	s.wantList(timeoutDead, other)
	if texts := s.ZRange(t.Context(), timeoutPool, 0, -1).Val(); len(texts) != 1 || !strings.Contains(texts[0], `"order_id":17`) {
		t.Errorf("the pool holds %q", texts)
	}
	s.verb(1, []string{money + " is not among the dead jobs of order_timeout"}, "dead", "show", "order_timeout", money)
}

func TestReplayChoosesAndIsUndone(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	money := s.dead("a", "no money", "2026-11-29 12:00:00")
	fault := s.dead("b", "segfault", "2026-11-29 12:00:00")
	also := s.dead("c", "No Money", "2026-11-29 12:00:00")
	s.verb(0, []string{"would replay a\nwould replay c\nwould replay 2 jobs"}, "dead", "replay", "order_timeout", "--error", "no money", "--dry-run")
	if s.wantList(timeoutDead, money, fault, also); len(s.trail()) != 0 {
		t.Errorf("a dry run leaves %q in the trail", s.trail())
	}

	s.verb(0, []string{"replayed 2 jobs", "sidecar dead undo " + dir}, "dead", "replay", "order_timeout", "--error", "no money", "--undo-dir", dir)
	s.wantList(timeoutDead, fault)
	for _, text := range s.ZRange(t.Context(), timeoutPool, 0, -1).Val() {
		if !regexp.MustCompile(`^{"uuid":"[ac]","type":"order","retry":0,"secret":1,"replayed_at":"20`).MatchString(text) {
			t.Errorf("the pool holds %s", text)
		}
	}
	// One of them was promoted meanwhile.
	text := s.ZRange(t.Context(), timeoutPool, 0, 0).Val()[0]
	s.do("ZREM", timeoutPool, text)
	s.do("RPUSH", "delay:ready:order_timeout", text)
	file := undoFile(t, dir)
	s.verb(0, []string{"put back 2 jobs"}, "dead", "undo", file)
	s.wantList(timeoutDead, fault, money, also)
	if n := s.Exists(t.Context(), timeoutPool, "delay:ready:order_timeout").Val(); n != 0 {
		t.Errorf("%d keys still hold replayed jobs", n)
	}
	s.verb(0, []string{"put back 0 jobs", "2 jobs needed nothing"}, "dead", "undo", file)
	s.wantList(timeoutDead, fault, money, also)
	want := []string{"undo order_timeout 2  of a replay", `replay order_timeout 2 --error "no money"`}
	if got := s.trail(); !slices.Equal(got, want) {
		t.Errorf("the trail is %q, want %q", got, want)
	}
}

func TestUndoLeavesAloneWhatHasRun(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	s.dead("a", "x", "2026-11-29 12:00:00")
	kept := s.dead("b", "x", "2026-11-29 12:00:00")
	s.verb(0, nil, "dead", "replay", "order_timeout", "--undo-dir", dir)
	s.do("ZPOPMIN", timeoutPool) // it runs
	file := undoFile(t, dir)
	for _, n := range []int{1, 0} {
		s.verb(1, []string{fmt.Sprintf("put back %d job", n), "1 replayed job waits no more"}, "dead", "undo", file)
		s.wantList(timeoutDead, kept)
	}
}

func TestReplayKeepsRetryWhereAsked(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.dead("a", "x", "2026-11-29 12:00:00")
	s.verb(0, nil, "dead", "replay", "order_timeout", "--uuid", "a", "--keep-retry", "--undo-dir", t.TempDir())
	if text := s.ZRange(t.Context(), timeoutPool, 0, -1).Val()[0]; !strings.Contains(text, `"retry":6`) {
		t.Errorf("the pool holds %s", text)
	}
	s.verb(1, []string{"none of these is among the dead jobs of order_timeout"}, "dead", "replay", "order_timeout", "--uuid", "a", "--undo-dir", t.TempDir())
}

func TestReplayLeavesWhatCannotRun(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	raw := `{"job":{"sidecar_raw":"c2VjcmV0"},"error":"not a JSON object","trace":"","at":"2026-11-30 12:00:01"}`
	s.do("RPUSH", timeoutDead, "no record", raw)
	s.dead("a", "x", "2026-11-29 12:00:00")
	said := []string{"1 record holds no job: left where it is", "1 record holds a text that is no JSON object and cannot run"}
	s.verb(0, append(said, "would replay 1 job"), "replay", "order_timeout", "--dry-run")
	s.verb(0, append(said, "replayed a\nreplayed 1 job"), "replay", "order_timeout", "--undo-dir", t.TempDir())
	s.wantList(timeoutDead, "no record", raw)
	s.verb(0, []string{"replayed record:", "\nreplayed 1 job"}, "replay", "order_timeout", "--raw", "--undo-dir", t.TempDir())
	s.wantList(timeoutDead, "no record")
	if n := s.ZScore(t.Context(), timeoutPool, "secret").Val(); n == 0 {
		t.Error("the bytes are not in the pool")
	}
}

func TestDropWantsToBeToldWhichAndIsUndone(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	all := []string{s.dead("a", "x", "2026-11-29 12:00:00"), s.dead("b", "y", "2026-11-29 12:00:00"), s.dead("c", "x", "2026-11-30 12:00:00")}
	s.do("RPUSH", timeoutDead, "no record", all[0]) // and a twin
	s.verb(2, []string{"want to be told which"}, "dead", "drop", "order_timeout")
	s.verb(2, []string{"want either --all or a filter"}, "dead", "drop", "order_timeout", "--all", "--error", "x")
	s.verb(0, []string{"would drop a\nwould drop c\nwould drop a\nwould drop 3 jobs"}, "dead", "drop", "order_timeout", "--error", "x", "--dry-run")
	s.verb(0, []string{"dropped 3 jobs"}, "dead", "drop", "order_timeout", "--error", "x", "--undo-dir", dir)
	s.wantList(timeoutDead, all[1], "no record")
	s.verb(0, []string{"put back 3 jobs"}, "dead", "undo", undoFile(t, dir))
	s.wantList(timeoutDead, all[1], "no record", all[0], all[2], all[0])

	dir = t.TempDir()
	s.verb(0, []string{"dropped 5 jobs"}, "dead", "drop", "order_timeout", "--all", "--undo-dir", dir)
	s.wantList(timeoutDead)
	s.verb(0, []string{"put back 5 jobs"}, "dead", "undo", undoFile(t, dir))
	s.wantList(timeoutDead, all[1], "no record", all[0], all[2], all[0])
}

// Where the dashboard finds it whoever acted can take it back there, and no start of the host empties it.
func TestUndoFilesGoWhereTheDashboardFindsThem(t *testing.T) {
	s, here, kept := newShop(t), t.TempDir(), filepath.Join(t.TempDir(), "undo")
	t.Chdir(here)
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.config, fmt.Appendf(nil, "[admin]\nundo_dir = %q\n%s", kept, text), 0o600); err != nil {
		t.Fatal(err)
	}
	drop := func(dir string) {
		t.Helper()
		s.dead("a", "x", "2026-11-29 12:00:00")
		s.verb(0, []string{"dropped 1 job"}, "dead", "drop", "order_timeout", "--all")
		undoFile(t, dir)
	}
	drop(here) // there is no such directory, and no verb makes one
	if err := os.Mkdir(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	drop(kept)

	// By its bare name it is found there, and the one beside us comes first.
	name := filepath.Base(undoFile(t, kept))
	s.verb(0, []string{"put back 1 job"}, "dead", "undo", name)
	s.verb(1, []string{"open the undo file: open sidecar-undo-none.jsonl: no such file"}, "dead", "undo", "sidecar-undo-none.jsonl")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.verb(1, []string{name}, "dead", "undo", name)
}

func TestWhatUndoesIsFoundFromAnywhere(t *testing.T) {
	s, here := newShop(t), t.TempDir()
	t.Chdir(here)
	s.dead("a", "x", "2026-11-29 12:00:00")
	if err := os.Mkdir("kept", 0o700); err != nil {
		t.Fatal(err)
	}
	s.verb(0, []string{"sidecar dead undo " + filepath.Join(here, "kept", "sidecar-undo-")}, "dead", "drop", "order_timeout", "--all", "--undo-dir", "kept")
}

func TestDropAsksOnATerminal(t *testing.T) {
	t.Parallel()
	s, p := newShop(t), newPTY(t)
	a := s.dead("a", "x", "2026-11-29 12:00:00")
	for _, answer := range []struct {
		word string
		code int
		left []string
	}{{"n", 1, []string{a}}, {"", 1, []string{a}}, {"yes", 0, nil}} {
		if _, err := p.person.WriteString(answer.word + "\n"); err != nil {
			t.Fatal(err)
		}
		if code := <-p.run("dead", "drop", "order_timeout", "--all", "--undo-dir", t.TempDir(), "-c", s.config); code != answer.code {
			t.Errorf("%q: exit %d", answer.word, code)
		}
		s.wantList(timeoutDead, answer.left...)
	}
}

func TestAListsLettersAreReplayedDroppedAndUndoneWithTheirReasons(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	s.bury("send_sms", `{"job_id":"1","type":"send_sms","retry_count":3}`, "no credit")
	s.bury("mail", `{"job_id":"2","type":"mail"}`, "no credit")
	s.bury("send_sms", `{"job_id":"3","type":"send_sms","retry_count":3}`, "segfault")
	before := s.verb(0, nil, "dead", "list", "send_sms")
	s.verb(0, []string{"dropped 1 job"}, "dead", "drop", "send_sms", "--error", "credit", "--undo-dir", dir)
	s.wantList(deadKey, `{"job_id":"3","type":"send_sms","retry_count":3}`, `{"job_id":"2","type":"mail"}`)
	s.verb(0, []string{"put back 1 job"}, "dead", "undo", undoFile(t, dir))
	s.wantList(deadKey, `{"job_id":"1","type":"send_sms","retry_count":3}`, `{"job_id":"3","type":"send_sms","retry_count":3}`, `{"job_id":"2","type":"mail"}`)
	s.verb(0, []string{"no credit"}, "dead", "list", "send_sms", "--uuid", "1")

	dir = t.TempDir()
	s.verb(0, []string{"replayed 2 jobs"}, "dead", "replay", "send_sms", "--undo-dir", dir)
	s.wantList(deadKey, `{"job_id":"2","type":"mail"}`)
	s.verb(0, []string{"put back 2 jobs"}, "dead", "undo", undoFile(t, dir))
	if after := s.verb(0, nil, "dead", "list", "send_sms"); len(strings.Split(after, "\n")) != len(strings.Split(before, "\n")) {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// Into another Redis the jobs would come back as dead ones that were never there.
func TestUndoRefusesAnotherRedisUnlessThatIsMeant(t *testing.T) {
	t.Parallel()
	s, other, dir := newShop(t), newShop(t), t.TempDir()
	record := s.dead("a", "x", "2026-11-29 12:00:00")
	s.verb(0, nil, "dead", "drop", "order_timeout", "--all", "--undo-dir", dir)
	file := undoFile(t, dir)
	database := other
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	database.config = writeConfig(t, strings.Replace(string(text), "/0\"", "/1\"", 1))
	for where, want := range map[*shop]string{&other: "database 0, which knows none of its moves", &database: "database 1, which knows none of its moves"} {
		where.verb(1, []string{"its jobs belong elsewhere: " + file + " was written at ", "; this configuration leads to ", want, "--anyway"}, "dead", "undo", file)
	}
	if n := other.Exists(t.Context(), timeoutDead).Val(); n != 0 {
		t.Error("something was put back there")
	}

	// Files of before say nothing of it, and are undone as ever.
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(dir, "before.jsonl")
	if err := os.WriteFile(before, regexp.MustCompile(`,"redis":{[^}]*}`).ReplaceAll(whole, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	other.verb(0, []string{"put back 1 job"}, "dead", "undo", before)
	other.wantList(timeoutDead, record)

	// The same Redis by another name knows the moves. A third one is meant.
	renamed := filepath.Join(dir, "renamed.jsonl")
	if err := os.WriteFile(renamed, regexp.MustCompile(`"servers":\[[^]]*\]`).ReplaceAll(whole, []byte(`"servers":["redis-old.lan:6379"]`)), 0o600); err != nil {
		t.Fatal(err)
	}
	third := newShop(t)
	third.verb(1, []string{"was written at redis-old.lan:6379, database 0"}, "dead", "undo", renamed)
	s.verb(0, []string{"put back 1 job"}, "dead", "undo", renamed)
	s.wantList(timeoutDead, record)
	third.verb(0, []string{"warning: its jobs belong elsewhere", "put back 1 job"}, "dead", "undo", "--anyway", file)
	third.wantList(timeoutDead, record)
}

func TestUndoRefusesAFileThatIsNotForThisConfiguration(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	s.dead("a", "x", "2026-11-29 12:00:00")
	s.verb(0, nil, "dead", "replay", "order_timeout", "--undo-dir", dir)
	file := undoFile(t, dir)
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	other := s
	other.config = writeConfig(t, strings.Replace(string(text), "[redis]\n", "[redis]\nkey_prefix = \"shop_\"\n", 1))
	other.verb(1, []string{`is for key_prefix = ""`}, "dead", "undo", file)
	other.config = writeConfig(t, strings.Replace(string(text), "[topic.order_timeout]", "[topic.other]", 1))
	other.verb(2, []string{`no topic "order_timeout"`}, "dead", "undo", file)
	s.verb(1, []string{"open the undo file"}, "dead", "undo", filepath.Join(dir, "none"))
	s.verb(1, []string{"is no undo file of the sidecar"}, "dead", "undo", s.config)
}

func TestExportWritesDeadJobsWhole(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	a, b := s.dead("a", "no money", "2026-11-29 12:00:00"), s.dead("b", "segfault \u0085", "2026-11-29 12:00:00")
	s.do("RPUSH", timeoutDead, "no\xffrecord")
	if got := s.verb(0, nil, "dead", "export", "order_timeout", "--format", "raw"); got != a+"\n"+b+"\n"+"no\xffrecord\n" {
		t.Errorf("raw: %q", got)
	}
	file := filepath.Join(dir, "dead.jsonl")
	s.verb(0, []string{"exported 3 jobs"}, "dead", "export", "order_timeout", "--output", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		UUID, Error, Job string
		Record           []byte
	}
	var jobs []line
	for text := range strings.Lines(string(text)) {
		var one line
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, one)
	}
	if len(jobs) != 3 || jobs[0].Job != `{"uuid":"a","type":"order","retry":6,"secret":1}` || jobs[1].Error != "segfault \u0085" || string(jobs[2].Record) != "no\xffrecord" {
		t.Errorf("got %+v", jobs)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	s.verb(1, []string{"file exists"}, "dead", "export", "order_timeout", "--output", file)
	if got := s.verb(0, []string{"exported 1 job"}, "dead", "export", "order_timeout", "--error", "money", "--limit", "1"); strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
}

func TestRequeueMakesWaitingJobsDue(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := s.Time(t.Context()).Val().UnixMilli() //nolint:forbidigo // Redis's
	s.do("ZADD", timeoutPool, now+3_600_000, `{"uuid":"a"}`, now+3_600_000, `{"uuid":"b"}`, now-1000, `{"uuid":"c"}`)
	s.do("ZADD", "delay:running:order_timeout", now+20_000, `{"uuid":"r"}`)
	s.dead("d", "x", "2026-11-29 12:00:00")
	s.verb(0, []string{"a is due now\nc was due already"}, "requeue", "order_timeout", "a", "c")
	if due := s.ZCount(t.Context(), timeoutPool, "-inf", fmt.Sprint(now+60_000)).Val(); due != 2 {
		t.Errorf("%d jobs are due", due)
	}
	s.verb(1, []string{"b is due now", "r: ", "running", "d: ", "replay it", "e: it is nowhere in this topic"}, "requeue", "order_timeout", "r", "d", "b", "e")
	if got := s.trail(); !slices.Equal(got, []string{"requeue order_timeout 1", "requeue order_timeout 1"}) {
		t.Errorf("the trail is %q", got)
	}
}

func TestDeadListCountsByErrorAndLikeTakesThoseOfOne(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 5 {
		s.dead(fmt.Sprint("u", i), fmt.Sprintf("order 20%d of 13812345678 not found\nsecond line", i), fmt.Sprintf("2026-11-29 12:00:0%d", i))
	}
	s.dead("other", "no money", "2026-11-29 11:00:00")
	s.do("RPUSH", timeoutDead, "no record")
	table := s.verb(0, []string{
		"JOBS", "ONE OF THEM", "5     2026-11-29 12:00:00  2026-11-29 12:00:04  u4", "order # of # not found\n", "1     2026-11-29 11:00:00", "not a dead record",
		"sidecar dead replay order_timeout --limit 0 --like 'order # of # not found' -c ", " takes those of the first line\n",
	}, "dead", "list", "order_timeout", "--by", "error")
	if strings.Contains(table, "138") || strings.Count(table, "\n") != 4 {
		t.Errorf("got\n%s", table)
	}
	s.verb(0, []string{`"causes":[{"error":"order # of # not found","count":5,"first":"2026-11-29 12:00:00","last":"2026-11-29 12:00:04","example":"u4"}],"others":2`, `"topic":"order_timeout"`},
		"dead", "list", "order_timeout", "--by", "error", "--limit", "1", "--json")
	s.verb(0, []string{" takes those of the first line, with the same filter\n"}, "dead", "list", "order_timeout", "--by", "error", "--error", "money")
	s.verb(0, []string{"order_timeout has no such dead jobs\n"}, "dead", "list", "order_timeout", "--by", "error", "--error", "nobody")
	s.verb(2, []string{`--by "uuid": want error`}, "dead", "list", "order_timeout", "--by", "uuid")
	s.verb(0, []string{"replayed 5 jobs"}, "dead", "replay", "order_timeout", "--like", "order 7 of 8 not found", "--undo-dir", t.TempDir())
	s.verb(0, []string{"dropped 1 job"}, "dead", "drop", "order_timeout", "--like", "no money", "--undo-dir", t.TempDir())
	s.wantList(timeoutDead, "no record")
	left := sidecar(t, "", "dead", "list", "order_timeout", "--by", "error", "-c", s.config)
	if !strings.Contains(left.stdout, "not a dead record") || strings.Contains(left.stderr, "--like") {
		t.Errorf("--like would find none of them:\n%s%s", left.stdout, left.stderr)
	}
}
