package testenv_test

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

func listens(f *testenv.FPM) bool {
	network, address, _ := strings.Cut(f.Listen, "://")
	c, err := net.Dial(network, address)
	if err == nil {
		c.Close()
	}
	return err == nil
}

func TestFPMStartsStopsAndReloads(t *testing.T) {
	for _, tcp := range []bool{false, true} {
		f := testenv.StartFPM(t, testenv.FPMOptions{TCP: tcp, Children: 3})
		testenv.Poll(t, 5*time.Second, "three children", func() bool { return len(f.Children()) == 3 })
		before := f.Children()
		f.Reload()
		testenv.Poll(t, 5*time.Second, "three new children", func() bool {
			now := f.Children()
			return len(now) == 3 && !slices.ContainsFunc(now, func(pid int) bool { return slices.Contains(before, pid) })
		})
		f.Stop()
		if listens(f) {
			t.Errorf("%s listens although it was stopped", f.Listen)
		}
		f.Start()
		if !listens(f) {
			t.Errorf("%s does not listen although it was started again", f.Listen)
		}
	}
}

func TestFPMsFilesAreReadableByItsChildren(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	for path, want := range map[string]os.FileMode{
		f.Dir: 0o755, f.Handler("ok"): 0o644, f.Script("a/b.php", "<?php"): 0o644, f.Shared(): 0o777,
	} {
		if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, stat.Mode(), err, want)
		}
	}
	testenv.Poll(t, 5*time.Second, "FPM's own word that it is ready", func() bool { // it listens a moment earlier
		return strings.Contains(f.Log(), "ready to handle connections")
	})
}
