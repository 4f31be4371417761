package deploy_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const unit = "systemd/sidecar.service"

// exposure is the most that systemd may find, in tenths: 1.5 of 10. What is left is the network, which it serves,
// and /proc and the users of this host, whom it looks at before it signals anybody.
const exposure = "16"

func TestTheUnitIsHardened(t *testing.T) {
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+exposure, unit).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, line := range []string{
		"NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
		"MemoryDenyWriteExecute=yes", "SystemCallFilter=@system-service", "RuntimeDirectoryMode=0750", "LimitCORE=0", "User=www-data", "StateDirectory=sidecar", "StateDirectoryMode=0700",
	} {
		if !strings.Contains(read(t, unit), "\n"+line+"\n") {
			t.Errorf("the unit has no line %q", line)
		}
	}
}

// What systemd does not understand it only warns of, and leaves out.
func TestSystemdUnderstandsTheUnit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "sidecar")
	write(t, binary, "#!/bin/sh\n", 0o755)
	path := filepath.Join(dir, "sidecar.service")
	write(t, path, strings.ReplaceAll(read(t, unit), "/usr/local/bin/sidecar", binary), 0o644)
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "sidecar.service") { // other lines are about this machine's own units
			t.Errorf("systemd-analyze: %s", line)
		}
	}
}

// The watchdog is fed a third of its time apart; a roll call that is late must not kill, nor one that a long stop leaves out.
func TestTheUnitHasAWatchdog(t *testing.T) {
	for _, line := range []string{"WatchdogSec=60", "Type=notify", "NotifyAccess=main", "Restart=on-failure"} {
		if !strings.Contains(read(t, unit), "\n"+line+"\n") {
			t.Errorf("the unit has no line %q", line)
		}
	}
}

// Lines of hardening without a reason are the first that go when something does not work.
func TestEveryHardeningHasItsReason(t *testing.T) {
	_, block, found := strings.Cut(read(t, unit), "# What it can not do.")
	block, _, ended := strings.Cut(block, "\n[Install]")
	if !found || !ended {
		t.Fatal("the block is not where it was")
	}
	lines, since := 0, 99 // lines since the last comment
	for line := range strings.Lines(block) {
		switch {
		case strings.HasPrefix(line, "#"):
			since = 0
		case strings.Contains(line, "="):
			lines++
			if since++; since > 3 {
				t.Errorf("no reason above %s", line)
			}
		}
	}
	if lines < 25 {
		t.Errorf("%d lines found", lines)
	}
}
