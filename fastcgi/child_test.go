package fastcgi

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sidecar/internal/proc"
	"sidecar/internal/testenv"
)

// found returns a bystander as a run would find its child.
func found(t *testing.T) (*child, func() error) {
	t.Helper()
	cmd := bystander(t)
	c, err := findChild(cmd.Process.Pid, 0, connected(t, "unix", filepath.Join(t.TempDir(), "s.sock")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.release)
	return c, cmd.Wait
}

// A master that is frozen, or no more, does not bury its children.
func TestAChildIsGoneBeforeAnybodyBuriesIt(t *testing.T) {
	c, bury := found(t)
	if c.gone() {
		t.Fatal("gone while it lives")
	}
	if err := c.kill(); err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, 5*time.Second, "the child to be gone", c.gone)
	_ = bury()
	if !c.gone() || c.kill() != nil {
		t.Error("a child that is buried can be killed once more")
	}
}

func TestAPidThatIsAnothersByNowIsNotKilled(t *testing.T) {
	c, _ := found(t)
	living := c.first
	c.first.Parent++
	if c.gone() {
		t.Error("gone because its parent has changed, as an orphan's does")
	}
	older, err := proc.Read(os.Getppid())
	if err != nil || older.Same(living) {
		t.Fatalf("the stat of an older process: %+v, %v", older, err)
	}
	c.first = older
	if !c.gone() {
		t.Fatal("its successor is taken for it")
	}
	if err := c.kill(); err != nil {
		t.Fatal(err)
	}
	c.first = living
	if c.gone() {
		t.Error("its successor was killed")
	}
}
