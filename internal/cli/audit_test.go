package cli_test

import (
	"strings"
	"testing"
)

func TestAuditSaysWhoHasDoneWhat(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	s.verb(0, []string{"nothing was done by hand"}, "audit")
	s.dead("a", "no money", "2026-11-29 12:00:00")
	s.verb(0, []string{"dropped 1 job"}, "dead", "drop", "order_timeout", "--error", "no money", "--undo-dir", dir)
	s.verb(0, []string{"put back 1 job"}, "dead", "undo", undoFile(t, dir))
	out := s.verb(0, []string{"order_timeout", `--error "no money"`, undoFile(t, dir)}, "audit")
	if undone, dropped := strings.Index(out, " undo "), strings.Index(out, " drop "); undone < 0 || dropped < undone {
		t.Errorf("the newest does not come first:\n%s", out)
	}
	out = s.verb(0, []string{`"verb":"undo","topic":"order_timeout","count":1`, `"note":"of a drop"`}, "audit", "--json", "--limit", "1")
	if strings.Contains(out, `"verb":"drop"`) {
		t.Errorf("there is more than one line:\n%s", out)
	}
	s.verb(2, []string{"--limit 0: want 1 to 1000"}, "audit", "--limit", "0")
	s.verb(2, []string{`want no arguments, got "x"`}, "audit", "x")
}
