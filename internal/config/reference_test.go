package config_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"sidecar/internal/config"
)

// option matches a line of sidecar.toml that sets a key, commented out or not, with its explanation.
var option = regexp.MustCompile(`^#?([a-z_]+ = |\[)`)

// reference returns the repository's sidecar.toml, as it is and with every option taken out of its comment.
func reference(t *testing.T) (asIs, complete string) {
	t.Helper()
	data, err := os.ReadFile("../../sidecar.toml")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if option.MatchString(line) {
			line = strings.TrimPrefix(line, "#")
		}
		b.WriteString(line)
	}
	return string(data), b.String()
}

func TestTheRepositorysFileSaysTheDefaults(t *testing.T) {
	asIs, complete := reference(t)
	want := parse(t, asIs)
	got := parse(t, complete)
	if len(got.Warnings()) > 0 || len(want.Warnings()) > 0 {
		t.Errorf("it warns: %q %q", want.Warnings(), got.Warnings())
	}
	// Only how an empty array is kept may differ.
	got.Redis.Addrs, want.Redis.Addrs = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("an option is written with another value than its default\n got %+v\nwant %+v", got, want)
	}
	plain := config.Default()
	plain.Path, plain.FPM, plain.Topics = got.Path, got.FPM, got.Topics
	if !reflect.DeepEqual(*got, plain) {
		t.Errorf("its live lines change a default\n got %+v\nwant %+v", *got, plain)
	}
}

func TestTheRepositorysFileNamesEveryOptionAndNoOther(t *testing.T) {
	_, complete := reference(t)
	var root map[string]any
	if _, err := toml.Decode(complete, &root); err != nil {
		t.Fatal(err)
	}
	table := func(path ...string) map[string]any {
		m := root
		for _, name := range path {
			m, _ = m[name].(map[string]any)
		}
		return m
	}
	tables := map[string]map[string]any{
		"the top of the file":          root,
		"[admin]":                      table("admin"),
		"[redis]":                      table("redis"),
		"[redis.tls]":                  table("redis", "tls"),
		"[fpm.<name>]":                 table("fpm", "default"),
		"[topic.<name>] or [defaults]": table("topic", "order_timeout"),
	}
	for _, home := range config.Schema() {
		known := tables[home.Name]
		for _, key := range home.Keys {
			if _, ok := known[key]; !ok {
				t.Errorf("%s: %s is missing", home.Name, key)
			}
		}
		for key := range known {
			if !slices.Contains(home.Keys, key) {
				t.Errorf("%s: %s is no option", home.Name, key)
			}
		}
		delete(tables, home.Name)
	}
	for name := range tables {
		t.Errorf("%s is no table of the file", name)
	}
}

func TestTheRepositorysFileExplainsEveryOptionInItsLine(t *testing.T) {
	asIs, _ := reference(t)
	for line := range strings.Lines(asIs) {
		if option.MatchString(line) && strings.Contains(line, " = ") && !strings.Contains(line, "  # ") {
			t.Errorf("no explanation in: %s", line)
		}
	}
}
