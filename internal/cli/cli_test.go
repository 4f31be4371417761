package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sidecar/internal/cli"
)

// outcome is what one command line came to.
type outcome struct {
	code           int
	stdout, stderr string
}

func sidecar(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := cli.Main(args, cli.Env{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Version: "v-test"})
	return outcome{code, stdout.String(), stderr.String()}
}

func TestHelpTeaches(t *testing.T) {
	overview := sidecar(t, "", "--help")
	for _, verb := range []string{"run", "reload", "check", "doctor", "push", "replay", "dead", "handback", "status", "top", "spool", "try", "completion", "version"} {
		if overview.code != 0 || !strings.Contains(overview.stdout, "\n  "+verb) {
			t.Errorf("--help (exit %d) does not list %s:\n%s", overview.code, verb, overview.stdout)
		}
		for _, args := range [][]string{{verb, "--help"}, {verb, "-h"}, {"help", verb}} {
			got := sidecar(t, "", args...)
			if got.code != 0 || !strings.HasPrefix(got.stdout, "usage: sidecar "+verb) || got.stderr != "" {
				t.Errorf("%v: exit %d, stdout %q, stderr %q; want its usage on stdout", args, got.code, got.stdout, got.stderr)
			}
		}
	}
}

func TestWrongArgumentsExitWithTwo(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no verb":          {nil, "usage: sidecar <verb>"},
		"unknown verb":     {[]string{"statsu"}, `no verb "statsu" (did you mean "status"?)`},
		"nothing like it":  {[]string{"frobnicate"}, `no verb "frobnicate"; sidecar --help`},
		"mistyped subverb": {[]string{"dead", "lsit", "t"}, `no "lsit" (did you mean "list"?)`},
		"watch how often":  {[]string{"status", "--watch", "soon"}, "want how often"},
		"watch too often":  {[]string{"status", "--watch=1ms"}, "at least 100ms"},
		"top of a topic":   {[]string{"top", "t"}, "want no arguments"},
		"top by what":      {[]string{"top", "--sort", "age"}, "want backlog, oldest, dead or topic"},
		"top too often":    {[]string{"top", "--every", "1ms"}, "at least 100ms"},
		"top back":         {[]string{"top", "--count", "-1"}, "zero or more"},
		"which shell":      {[]string{"completion"}, "want bash, zsh or fish"},
		"find what":        {[]string{"find"}, "want a uuid, --prefix, --field or --text"},
		"find none":        {[]string{"find", "u", "--limit", "0"}, "at least 1"},
		"other shell":      {[]string{"completion", "ksh"}, `no completion for "ksh"`},
		"unknown flag":     {[]string{"status", "--jsno"}, "jsno"},
		"spare argument":   {[]string{"status", "order_timeout"}, "want no arguments"},
		"push without":     {[]string{"push"}, "want a topic"},
		"negative delay":   {[]string{"push", "t", "--delay", "-3s"}, "want zero or more"},
		"bad delay":        {[]string{"push", "t", "--delay", "soon"}, "soon"},
		"replay without":   {[]string{"replay"}, "want a topic"},
		"replay no limit":  {[]string{"replay", "t", "--limit", "-1"}, "zero or more"},
		"dead without":     {[]string{"dead"}, "sidecar dead: want list"},
		"dead of what":     {[]string{"dead", "list"}, "want a topic"},
		"dead bury":        {[]string{"dead", "bury", "t"}, `no "bury", want list`},
		"dead no limit":    {[]string{"dead", "list", "t", "--limit", "0"}, "at least 1"},
		"spool of what":    {[]string{"spool", "web"}, `no "web", want drain, status`},
		"spool do what":    {[]string{"spool", "fill", "web"}, `no "fill", want drain, status`},
		"spool, bad limit": {[]string{"spool", "drain", "web", "--limit", "-1"}, "zero or more"},
		"spool, bad rate":  {[]string{"spool", "drain", "web", "--rate", "-2"}, "zero or more"},
		"try without job":  {[]string{"try", "t"}, "want a topic and a job"},
		"missing file":     {[]string{"check", "-c", "/nonexistent.toml"}, "/nonexistent.toml"},
		"push, no file":    {[]string{"push", "t", "-c", "/nonexistent.toml"}, "/nonexistent.toml"},
		"reload a topic":   {[]string{"reload", "t"}, "want no arguments"},
		"reload, no file":  {[]string{"reload", "-c", "/nonexistent.toml"}, "/nonexistent.toml"},
		"check, spare":     {[]string{"check", "other.toml"}, "want no arguments"},
		"run, two of them": {[]string{"run", "a", "b"}, `want no arguments, got "a", "b"`},
		"a flag first":     {[]string{"-c", "x.toml", "status"}, "the verb comes first"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := sidecar(t, "", tt.args...)
			if got.code != 2 || !strings.Contains(got.stderr, tt.want) || got.stdout != "" {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit 2 and stderr with %q", got.code, got.stdout, got.stderr, tt.want)
			}
		})
	}
}

func TestVersionNamesTheBuild(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if got := sidecar(t, "", args...); got.code != 0 || !strings.HasPrefix(got.stdout, "sidecar v-test (go") {
			t.Errorf("%v: exit %d, %q", args, got.code, got.stdout)
		}
	}
}

func TestCheckSaysWhetherTheConfigurationHolds(t *testing.T) {
	good := writeConfig(t, minimal)
	if got := sidecar(t, "", "check", "-c", good); got.code != 0 || !strings.Contains(got.stdout, "holds: 1 topic, 1 pool") {
		t.Errorf("good file: exit %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
	bad := writeConfig(t, minimal+"\nleese = \"3s\"\n")
	if got := sidecar(t, "", "check", "-c", bad); got.code != 2 || !strings.Contains(got.stderr, "leese") {
		t.Errorf("bad file: exit %d, stderr %q; want exit 2 and the wrong key named", got.code, got.stderr)
	}
}

const minimal = `
[redis]
url = "redis://127.0.0.1:6379/0"

[fpm.default]
listen = "unix:///run/php/php-fpm.sock"
children = 2

[topic.order_timeout]
script = "/srv/shop/jobs/order_timeout.php"
`

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sidecar.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
