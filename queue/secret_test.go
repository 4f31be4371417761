package queue_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"sidecar/queue"
)

func TestASecretShowsItselfToNoOne(t *testing.T) {
	s := queue.Secret("hunter2")
	held := queue.RedisOptions{Password: s}
	forms := map[string]string{"String": s.String(), "GoString": s.GoString()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t", "%10.3s"} {
		forms[verb] = fmt.Sprintf(verb, s)
		forms[verb+" in a struct"] = fmt.Sprintf(verb, held)
		forms[verb+" behind a pointer"] = fmt.Sprintf(verb, &held)
	}
	var text, lines bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("redis", "password", s, "options", held)
	slog.New(slog.NewJSONHandler(&lines, nil)).Info("redis", "password", s, "options", held)
	forms["slog text"], forms["slog json"] = text.String(), lines.String()
	for name, marshal := range map[string]func(any) ([]byte, error){"json": json.Marshal, "xml": xml.Marshal} {
		b, err := marshal(held)
		if err != nil {
			t.Fatal(err)
		}
		forms[name] = string(b)
	}

	for form, shown := range forms {
		if strings.Contains(shown, "hunter2") || strings.Contains(strings.ToLower(shown), "68756e74") || strings.Contains(shown, "68 75 6e") {
			t.Errorf("%s: %s", form, shown)
		}
	}
	if string(s) != "hunter2" {
		t.Error("the conversion lost it")
	}
}
