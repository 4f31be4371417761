package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sidecar/internal/config"
)

// position matches a fault: the file, its line and column or its line, or neither for what the whole file lacks.
var position = regexp.MustCompile(`^sidecar\.toml:(?:([0-9]+):(?:[0-9]+:)?)? \S`)

// FuzzLoadConfig feeds any file, with a password in its url and one in the environment. Nothing may panic, every
// error has a line for each fault, which says where it is, and nothing that is printed holds a password.
func FuzzLoadConfig(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join(corpus, "*.toml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range append(paths, "../../sidecar.toml") {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), "", "")
		f.Add(strings.Replace(string(data), "[redis]", "", 1), "p@", "/#?%")
	}
	const token = "Zx9-tOkEn-5q" // what no file says by chance
	f.Fuzz(func(t *testing.T, text, before, after string) {
		if strings.Contains(text+before+after, token) || strings.Contains(text, "_file") {
			t.Skip() // the file itself would say it, or have us read files of this machine
		}
		url := fmt.Sprintf("redis.url = \"redis://:%s%s%s@127.0.0.1:6379/0\"\n", before, token, after)
		c, err := config.Parse("sidecar.toml", []byte(url+text), env(token))
		if err != nil {
			lines := strings.Count(url+text, "\n") + 1
			for line := range strings.Lines(err.Error()) {
				at := position.FindStringSubmatch(line)
				if at == nil {
					t.Errorf("a fault without its place: %q", line)
					continue
				}
				if n, err := strconv.Atoi(at[1]); at[1] != "" && (err != nil || n < 1 || n > lines) {
					t.Errorf("a fault outside of the %d lines: %q", lines, line)
				}
			}
			if strings.Contains(err.Error(), token) {
				t.Errorf("the error shows the password: %v", err)
			}
			return
		}
		shown := fmt.Sprintf("%+v %#v %q", *c, *c, c.Warnings())
		if strings.Contains(shown, token) {
			t.Errorf("the configuration shows the password: %s", shown)
		}
		if len(c.Topics) == 0 || len(c.FPM) == 0 {
			t.Errorf("holds without topics or pools: %+v", c)
		}
	})
}
