package config_test

import (
	"fmt"
	"strings"
	"testing"

	"sidecar/internal/config"
)

func TestSumsTellWhichOptionsDifferAndHideThem(t *testing.T) {
	sums := func(topic string) string {
		t.Helper()
		file := "[redis]\nurl = \"redis://127.0.0.1/0\"\n[fpm.default]\nlisten = \"unix:///run/f.sock\"\n" + topic
		cfg, err := config.Parse("f", []byte(file), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		return cfg.Sums(cfg.Topics[0])
	}
	const mail = "[topic.mail]\nscript = \"/a.php\"\n"
	base := sums(mail)
	for add, want := range map[string]string{
		"":                         "[]",
		"workers = 2":              "[]",
		"weight = 3":               "[]",
		`rate = "6/m"`:             "[]",
		`retry = ["1s"]`:           "[[retry max_crashes max_retry]]",
		`score_unit = "s"`:         "[[score_unit key shards order dead]]",
		`timeout = "5s"`:           "[[timeout abandon_after memory_limit]]",
		`idempotency = "on"`:       "[[idempotency]]",
		`encoding = "auto"`:        "[[encoding decode_limit]]",
		`bootstrap = "/b.php"`:     "[[call script bootstrap mode bridge route]]",
		"success_body = \"^ok$\"":  "[[exit_ok fail_on_false success_body]]",
		"exit_ok = true\nretry=[]": "[[exit_ok fail_on_false success_body] [retry max_crashes max_retry]]",
	} {
		if got := fmt.Sprint(config.Differ(base, sums(mail+add))); got != want {
			t.Errorf("with %q: %s, want %s", add, got, want)
		}
	}
	if other := sums("[topic.sms]\nscript = \"/a.php\""); config.Differ(base, other) != nil {
		t.Error("the topic's name makes a difference")
	}
	list := "[list.l]\nkey = \"k\"\ndead = \"d\"\ncall = \"f\"\n[list.l.route.x]\ncall = \"g\"\n"
	if got := config.Differ(sums(list), sums(strings.Replace(list, `"g"`, `"h"`, 1))); len(got) != 1 || got[0][5] != "route" {
		t.Errorf("another route: %v", got)
	}
	if len(base) > 50 || strings.Contains(base, "a.php") || config.Differ(base, base+"1234") != nil {
		t.Errorf("sums are %q", base)
	}
}
