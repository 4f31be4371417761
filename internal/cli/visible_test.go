package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"sidecar/compat"
	"sidecar/fastcgi"
)

func TestNothingThatIsShownActsOnATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"plain\tand\nlines\n":         "plain\tand\nlines\n",
		"订单 é 🙂 \u3000":               "订单 é 🙂 \u3000",
		"\x1b]0;title\x07\x1b[2J":     `\u001b]0;title\u0007\u001b[2J`,
		"done\rfailed\b\b":            `done\u000dfailed\u0008\u0008`,
		"\u009b31m\x7f\x00":           `\u009b31m\u007f\u0000`,
		"bytes \xff\x9b and \xe8\xae": `bytes \xff\x9b and \xe8\xae`,
		"\u202egpj.exe\u2066":         `\u202egpj.exe\u2066`,
	} {
		var out bytes.Buffer
		n, err := visible{to: &out}.Write([]byte(text))
		if out.String() != want || n != len(text) || err != nil {
			t.Errorf("%q became %q (%d, %v), want %q", text, &out, n, err, want)
		}
	}
}

func TestWhatIsEscapedInJSONMeansTheSame(t *testing.T) {
	const said = "a\u009bb\x7fc\u202ed\x1be"
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(escaped(text), &back); err != nil || back != said {
		t.Errorf("%s is read as %q, %v", escaped(text), back, err)
	}
}

// Every verb and the log go through it, whatever they print.
func TestEveryVerbWritesForTerminals(t *testing.T) {
	var stdout, stderr bytes.Buffer
	Main([]string{"\x1b[2J"}, Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr})
	Main([]string{"status", "-c", "/no/\x1b[2J/file"}, Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr})
	if all := stdout.String() + stderr.String(); strings.ContainsRune(all, 0x1b) || strings.Count(all, `[2J`) < 2 {
		t.Errorf("shown: %q", all)
	}
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		newLogger(visible{to: &out}, format, slog.LevelInfo).Info("x", "error", errors.New("a\u009bb\x1b[2J\nlevel=ERROR"))
		if text := out.String(); strings.ContainsAny(text, "\u009b\x1b") || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %q", format, text)
		}
	}
}

// What a job's code says cannot look like a line of ours.
func TestAnErrorOfManyLinesStaysOneField(t *testing.T) {
	var out bytes.Buffer
	printResult(&out, fastcgi.Result{Outcome: compat.Outcome{Verdict: compat.Failed, Error: "no\nverdict: done"}})
	if strings.Contains(out.String(), "\nverdict: done") {
		t.Errorf("printed:\n%s", &out)
	}
}
