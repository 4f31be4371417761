package app_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sidecar/internal/testenv"
)

// What cannot be undone is not done: there is no place for the bytes. A bound of file sizes is a whole process's, and would hold for what
// the go command has its tests write: so the test runs in one of its own.
func TestNothingIsReplayedOrDroppedThatCannotBeKept(t *testing.T) {
	t.Parallel()
	const own = "SIDECAR_TEST_OWN_PROCESS"
	if os.Getenv(own) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v") //nolint:gosec // itself
		again.Env = append(os.Environ(), own+"=1")
		if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v:\n%s", err, out)
		}
		return
	}
	b := newBoard(t, testenv.Redis(t), "")
	var refs []string
	for _, row := range b.fail(t, 3).Jobs {
		refs = append(refs, row.Ref)
	}
	before := b.rdb.LRange(t.Context(), "delay:dead:mail", 0, -1).Val()
	refuse := func(why string) {
		t.Helper()
		for _, verb := range []string{"replay", "drop"} {
			code, page := b.act(t, url.Values{"verb": {verb}, "t": {"mail"}, "k": {"dead"}, "ref": refs, "name": {"mail"}})
			for _, want := range []string{"admin.undo_dir", b.undo, "not moved, since it could not be undone", why} {
				if code != http.StatusInternalServerError || !strings.Contains(page, want) {
					t.Errorf("%s: got %d, want a page with %q:\n%s", verb, code, want, page)
				}
			}
		}
		if after := b.rdb.LRange(t.Context(), "delay:dead:mail", 0, -1).Val(); !slices.Equal(before, after) || b.rdb.Exists(t.Context(), "delay:pool:mail").Val() > 0 {
			t.Errorf("%s: jobs were moved: dead is %q", why, after)
		}
		if left, _ := filepath.Glob(filepath.Join(b.undo, "*.jsonl")); len(left) > 0 {
			t.Errorf("%s: %q is left behind", why, left)
		}
	}
	block(t, os.Remove(b.undo)) // the start has made it
	block(t, os.WriteFile(b.undo, []byte("in the way"), 0o600))
	refuse("not a directory")
	block(t, os.Remove(b.undo))
	block(t, os.Symlink("/proc/self/fdinfo", b.undo)) // where nobody may make a file, not even root
	refuse("open: no such file or directory")
	block(t, os.Remove(b.undo))
	for _, most := range []uint64{10, 600} { // not even the first line, not the jobs
		full := boundFiles(t, most)
		refuse("file too large")
		full()
	}
}

func block(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// boundFiles keeps files of this process from growing beyond so many bytes, as a full disk does, until end is called.
func boundFiles(t *testing.T, most uint64) (end func()) {
	t.Helper()
	var usual syscall.Rlimit
	block(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &usual))
	signal.Ignore(syscall.SIGXFSZ)
	block(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: usual.Max}))
	return func() {
		t.Helper()
		block(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &usual))
		signal.Reset(syscall.SIGXFSZ)
	}
}

// act sends a form as the page that asks would, and returns the page that answers.
func (b *board) act(t *testing.T, form url.Values) (code int, page string) {
	t.Helper()
	_, shown := b.try(t, "GET", "/topic?t=mail", "")
	_, token, _ := strings.Cut(string(shown), `name="csrf" value="`)
	token, _, _ = strings.Cut(token, `"`)
	form.Set("csrf", token)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/act", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
