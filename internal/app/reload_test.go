package app

import (
	"errors"
	"strings"
	"testing"

	"sidecar/internal/config"
)

// Until one is taken; on one line that is not too long for a heartbeat.
func TestAReloadThatWasRefusedIsToldOf(t *testing.T) {
	a, _, _ := heralded(t)
	loaded, wrong := a.generation().cfg, errors.New("sidecar.toml:3: unknown key\nsidecar.toml:4: "+strings.Repeat("x", 1000))
	a.opts.Load = func() (*config.Config, error) { return loaded, wrong }
	if next := a.reload(t.Context()); next != nil {
		t.Fatal("a configuration that does not hold is taken")
	}
	said, line := a.Heartbeat(t.Context()).ReloadErr, a.statusLine()
	if !strings.HasPrefix(said, "sidecar.toml:3: unknown key sidecar.toml:4: xxx") || len(said) > refusalShown+len("…") || !strings.Contains(line, "reload was refused") {
		t.Errorf("it says %q and %q", said, line)
	}
	wrong = nil
	if next := a.reload(t.Context()); next != nil {
		t.Fatal("the same configuration is taken for another one")
	}
	if said, line = a.Heartbeat(t.Context()).ReloadErr, a.statusLine(); said != "" || strings.Contains(line, "refused") {
		t.Errorf("a reload was taken since, and it says %q and %q", said, line)
	}
}
