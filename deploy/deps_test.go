package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDepsIsSilentWhenNothingIsMissing(t *testing.T) {
	if out, err := newDeps(t, everyTool...).run(); err != nil || out != "" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestDepsInstallsOnlyWhatIsMissing(t *testing.T) {
	var tools []string
	for _, tool := range everyTool {
		if tool != "phpunit" && tool != "shellcheck" {
			tools = append(tools, tool)
		}
	}
	out, err := newDeps(t, tools...).run()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(out, "apt-get install -q -y --no-install-recommends phpunit shellcheck\n") {
		t.Errorf("got %q, want an install of phpunit and shellcheck alone", out)
	}
}

// Debian's package would start a server on whoever's machine this is.
func TestDepsUnpacksPromtoolAndInstallsNoPrometheus(t *testing.T) {
	d := newDeps(t, slices.DeleteFunc(slices.Clone(everyTool), func(tool string) bool { return tool == "promtool" || tool == "apt-get" })...)
	d.tool("apt-get", `echo "apt-get $@" && case "$1" in download) : >prometheus_2_amd64.deb ;; esac`)
	d.tool("dpkg-deb", `mkdir -p usr/bin && echo tool >usr/bin/promtool`)
	out, err := d.run()
	if err != nil || strings.Contains(out, " install ") {
		t.Errorf("got %q, %v; want nothing to be installed", out, err)
	}
	if got := read(t, filepath.Join(d.root, ".cache/promtool/promtool")); got != "tool\n" {
		t.Errorf("unpacked %q", got)
	}
}

func TestDepsSaysWhatIsMissingWhereThereIsNoApt(t *testing.T) {
	out, err := newDeps(t, "go", "php", "php-fpm", "promtool").run()
	if err == nil || !strings.Contains(out, "redis-server") {
		t.Errorf("got %q, %v; want a failure that names redis-server", out, err)
	}
}

var everyTool = []string{
	"apt-get", "go", "redis-server", "php", "php-fpm", "phpunit", "systemd-analyze", "gcc", "luac5.1", "luacheck", "shellcheck", "phpcs",
	"mariadbd", "my_print_defaults", "promtool", "chromium", "fc-list", "zsh", "fish",
}

// depsRig is a checkout with deps.sh, and a PATH of stand-ins that print their name and arguments.
type depsRig struct {
	t         *testing.T
	root, bin string
}

func newDeps(t *testing.T, tools ...string) *depsRig {
	t.Helper()
	d := &depsRig{t, t.TempDir(), t.TempDir()}
	write(t, filepath.Join(d.root, "deploy/scripts/deps.sh"), read(t, "scripts/deps.sh"), 0o755)
	for _, tool := range tools {
		d.tool(tool, "echo "+tool+` "$@"`)
	}
	d.tool("id", "echo 0")
	for _, needed := range []string{"env", "awk", "mktemp", "mkdir", "mv", "rm"} {
		path, err := exec.LookPath(needed)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(d.bin, needed)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// tool puts a stand-in on the PATH.
func (d *depsRig) tool(name, does string) {
	d.t.Helper()
	write(d.t, filepath.Join(d.bin, name), "#!/bin/sh\n"+does+"\n", 0o755)
}

// run runs deps.sh for all groups.
func (d *depsRig) run() (string, error) {
	cmd := exec.Command("/bin/bash", filepath.Join(d.root, "deploy/scripts/deps.sh"), "test", "race", "lint")
	cmd.Env = []string{"PATH=" + d.bin}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
