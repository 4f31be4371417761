package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sidecar/internal/cli"
)

// TestMain lets the test binary be the sidecar for shells: a completion asks the binary that the command line names.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "sidecar" {
		limitFiles(os.Getenv(filesMost))
		os.Exit(cli.Main(os.Args[1:], cli.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: "v-test"}))
	}
	os.Exit(m.Run())
}

const twoTopicsAndAList = minimal + `
[topic.order_refund]
script = "/srv/shop/jobs/order_refund.php"

[list.send_sms]
key = "queue:prod:send_sms"
dead = "queue:prod:dead"
call = "Sms::send"

[spool.web]
dsn = "sqlite:/var/lib/shop/spool.sqlite"
`

// shellDir is a directory with this binary as sidecar, a configuration and the completion for a shell.
func shellDir(t *testing.T, shell string) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "sidecar")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"sidecar.toml": twoTopicsAndAList, "script": sidecar(t, "", "completion", shell).stdout} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBashCompletesWhatMayComeNext(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	dir := shellDir(t, "bash")
	tests := map[string]struct {
		words []string
		want  []string
	}{
		"verbs":              {[]string{"st"}, []string{"status"}},
		"help for a verb":    {[]string{"help", "sta"}, []string{"status"}},
		"subverbs":           {[]string{"spool", ""}, []string{"drain", "status"}},
		"topics and lists":   {[]string{"push", ""}, []string{"order_refund", "order_timeout", "send_sms"}},
		"topics as begun":    {[]string{"replay", "order_t"}, []string{"order_timeout"}},
		"topics of a sub":    {[]string{"dead", "list", "--json", "send"}, []string{"send_sms"}},
		"behind a flag":      {[]string{"dead", "--limit", "3", "list", "order_r"}, []string{"order_refund"}},
		"lists only":         {[]string{"handback", ""}, []string{"send_sms"}},
		"spools":             {[]string{"spool", "drain", ""}, []string{"web"}},
		"flags":              {[]string{"top", "--s"}, []string{"--sort"}},
		"a flag's values":    {[]string{"top", "--sort", ""}, []string{"backlog", "dead", "oldest", "topic"}},
		"another file":       {[]string{"push", "-c", "sidecar.toml", "order_r"}, []string{"order_refund"}},
		"a file":             {[]string{"push", "-c", ""}, nil},
		"a missing file":     {[]string{"push", "-c", "none.toml", ""}, nil},
		"a value unlike any": {[]string{"dead", "list", "--limit", ""}, nil},
		"shells":             {[]string{"completion", ""}, []string{"bash", "fish", "zsh"}},
		"nothing known":      {[]string{"frobnicate", ""}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := `source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sidecar; printf '%s\n' "${COMPREPLY[@]}"`
			cmd := exec.Command("bash", append([]string{"--norc", "-c", script, "bash", "./sidecar"}, tt.words...)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			got := strings.Fields(string(out))
			slices.Sort(got)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("got %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

func TestCompletionsAreReadByTheirShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if out, err := exec.Command(shell, "-n", filepath.Join(shellDir(t, shell), "script")).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
