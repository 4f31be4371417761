package fastcgi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What counts as another state of the code, and what does not.
func TestTheCodeIsWatched(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.php", "one")
	write("b.php", "two")
	link := filepath.Join(dir, "job.php")
	if err := os.Symlink("a.php", link); err != nil {
		t.Fatal(err)
	}
	w := newCodeWatch("", []string{link})
	first, ok := w.look()
	again, _ := w.look()
	if !ok || first != again || first == "" {
		t.Errorf("%q, then %q", first, again)
	}
	write("a.php", "longer")
	if now, _ := w.look(); now == first {
		t.Error("a change of the file is not seen")
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.look(); ok {
		t.Error("a file that is not there counts as a change")
	}
	if err := os.Symlink("b.php", link); err != nil {
		t.Fatal(err)
	}
	if now, ok := w.look(); !ok || !strings.Contains(string(now), filepath.Join(dir, "b.php")) {
		t.Errorf("%+v", now)
	}
	begin := time.Now()
	if !w.due(begin) || w.due(begin.Add(codeEvery/2)) || !w.due(begin.Add(2*codeEvery)) {
		t.Error("it is not looked every 50 ms")
	}
}
