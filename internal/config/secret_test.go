package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sidecar/internal/config"
)

const (
	// The password of C111: everything in it breaks a URL.
	password = `p@ss:w/rd#%20"`
	encoded  = `p%40ss%3Aw%2Frd%23%2520%22`

	rest = `
[fpm.default]
listen = "unix:///run/php/php-fpm.sock"

[topic.a]
script = "/srv/a.php"
`
)

// secretFile writes text to a file with mode and returns its path.
func secretFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask took away
		t.Fatal(err)
	}
	return path
}

// env is an environment with the password variable only.
func env(value string) func(string) (string, bool) {
	return func(name string) (string, bool) { return value, name == "SIDECAR_REDIS_PASSWORD" }
}

func TestThePasswordArrivesFromEverywhere(t *testing.T) {
	inURL := fmt.Sprintf("[redis]\nurl = \"redis://jobs:%s@127.0.0.1:6379/2\"\n", encoded)
	inFile := func(text string) string {
		return fmt.Sprintf("[redis]\nusername = \"jobs\"\ndb = 2\npassword_file = %q\n", secretFile(t, text, 0o600))
	}
	tests := map[string]struct {
		text string
		env  func(string) (string, bool)
		want string
	}{
		"url":                           {inURL, noEnv, password},
		"file":                          {inFile(password), noEnv, password},
		"file with its newline":         {inFile(password + "\n"), noEnv, password},
		"file from windows":             {inFile(password + "\r\n"), noEnv, password},
		"file keeps its spaces":         {inFile(" " + password + " \n"), noEnv, " " + password + " "},
		"environment":                   {"redis = { username = \"jobs\", db = 2 }", env(password), password},
		"environment goes before file":  {inFile("old"), env(password), password},
		"environment goes before url":   {inURL, env("new"), "new"},
		"an empty variable is none":     {inFile(password), env(""), password},
		"file goes before the url's":    {inURL + fmt.Sprintf("password_file = %q\n", secretFile(t, "filed", 0o600)), noEnv, "filed"},
		"user in the url, rest in file": {fmt.Sprintf("[redis]\nurl = \"redis://jobs@127.0.0.1/2\"\npassword_file = %q\n", secretFile(t, password, 0o600)), noEnv, password},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse("sidecar.toml", []byte(tt.text+rest), tt.env)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(c.Redis.Password); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if c.Redis.Username != "jobs" || c.Redis.DB != 2 {
				t.Errorf("got user %q, db %d, want jobs, 2", c.Redis.Username, c.Redis.DB)
			}
			wantNoSecret(t, c, tt.want)
		})
	}
}

// wantNoSecret fails if any way to print, log or encode c shows secret, encoded for a URL or not.
func wantNoSecret(t *testing.T, c *config.Config, secret string) {
	t.Helper()
	var text, lines bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("configuration", "value", c, "redis", c.Redis, "password", c.Redis.Password)
	slog.New(slog.NewJSONHandler(&lines, nil)).Info("configuration", "value", c, "redis", c.Redis, "password", c.Redis.Password)
	encodedForm, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{
		"slog text": text.String(), "slog json": lines.String(), "json": string(encodedForm),
		"warnings": strings.Join(c.Warnings(), "\n"),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		forms[verb] = fmt.Sprintf(verb, *c) + fmt.Sprintf(verb, c.Redis)
	}
	for form, shown := range forms {
		for _, s := range []string{secret, encoded, fmt.Sprintf("%q", secret)} {
			if strings.Contains(shown, s) {
				t.Errorf("%s shows the password: %s", form, shown)
			}
		}
	}
}

func TestPasswordsThatArePassedOverAndFilesThatAreOpenWarn(t *testing.T) {
	open := secretFile(t, "secret", 0o644)
	text := fmt.Sprintf("[redis]\nurl = \"redis://:other@127.0.0.1\"\npassword_file = %q\n", open)
	c, err := config.Parse("sidecar.toml", []byte(text+rest), env("third"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`sidecar.toml:2: redis: url: the password in it is passed over, password_file is set`,
		`sidecar.toml:3: redis: password_file: every user of this machine can read the password in ` + open + ` (mode 0644); want 0640 or less`,
		`sidecar.toml:3: redis: password_file: its password is passed over, SIDECAR_REDIS_PASSWORD is set`,
	}
	if got := c.Warnings(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func TestAConfigurationFileWithAPasswordForAllToReadWarns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidecar.toml")
	text := "[redis]\nurl = \"redis://:secret@127.0.0.1\"\n" + rest
	for mode, want := range map[os.FileMode]int{0o644: 1, 0o640: 0} {
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Warnings()) != want {
			t.Errorf("mode %#o: got warnings %q, want %d", mode, c.Warnings(), want)
		}
	}
}

func TestSecretFilesThatCannotServeAreFaults(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	directory := t.TempDir()
	empty := secretFile(t, "\n", 0o600)
	large := secretFile(t, strings.Repeat("x", 65<<10), 0o600)
	for path, want := range map[string]string{
		missing:     "no such file or directory",
		directory:   "it is no regular file",
		"/dev/null": "it is no regular file",
		empty:       "it is empty",
		large:       "it is larger than 64 KB",
	} {
		text := fmt.Sprintf("[redis]\npassword_file = %q\n", path)
		_, err := config.Parse("sidecar.toml", []byte(text+rest), noEnv)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "sidecar.toml:2: redis: password_file = ") {
			t.Errorf("%s: got %v, want %s in line 2", path, err, want)
		}
	}
}

func TestTheSentinelsPasswordArrivesFromFileAndEnvironment(t *testing.T) {
	fromEnv := func(name string) (string, bool) { return password, name == "SIDECAR_SENTINEL_PASSWORD" }
	head := "[redis]\naddrs = [\"10.0.0.1:26379\"]\nsentinel = \"jobs\"\nsentinel_username = \"watcher\"\n"
	file := func(text string) string {
		return fmt.Sprintf("sentinel_password_file = %q\n", secretFile(t, text, 0o600))
	}
	for name, tt := range map[string]struct {
		text     string
		env      func(string) (string, bool)
		warnings int
	}{
		"file":                         {head + file(password+"\n"), noEnv, 0},
		"environment":                  {head, fromEnv, 0},
		"environment goes before file": {head + file("old"), fromEnv, 1},
	} {
		c, err := config.Parse("sidecar.toml", []byte(tt.text+rest), tt.env)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := string(c.Redis.SentinelPassword); got != password || c.Redis.SentinelUsername != "watcher" || c.Redis.Password != "" {
			t.Errorf("%s: got %q of %q, and %q for the servers", name, got, c.Redis.SentinelUsername, string(c.Redis.Password))
		}
		if len(c.Warnings()) != tt.warnings {
			t.Errorf("%s: warnings %q, want %d", name, c.Warnings(), tt.warnings)
		}
		wantNoSecret(t, c, password)
	}
	c, err := config.Parse("sidecar.toml", []byte(rest), fromEnv)
	if err != nil || c.Redis.SentinelPassword != "" {
		t.Errorf("without Sentinels: %v, want the variable left alone", err)
	}
	_, err = config.Parse("sidecar.toml", []byte(head+"sentinel_password_file = \"/nowhere\"\n"+rest), noEnv)
	if err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.HasPrefix(err.Error(), `sidecar.toml:5: redis: sentinel_password_file = "/nowhere": want a file`) {
		t.Errorf("got %v, want the one fault in line 5", err)
	}
}

func TestTLSFilesAreLookedAt(t *testing.T) {
	pem := secretFile(t, "PEM", 0o600)
	text := fmt.Sprintf("[redis]\ntls = { ca_file = %q, cert_file = %q, key_file = %q }\n", pem, pem, pem)
	if c := parse(t, text+rest); !c.Redis.TLS.Enabled || c.Redis.TLS.CAFile != pem || c.Redis.TLS.KeyFile != pem {
		t.Errorf("got %+v", c.Redis.TLS)
	}
}
