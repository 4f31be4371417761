package shell_test

import (
	"os/exec"
	"testing"

	"sidecar/internal/shell"
)

func TestAShellTakesAWordForWhatItWas(t *testing.T) {
	for _, text := range []string{
		"", "plain", "/etc/sidecar.toml", "delay:pool:{order_timeout}", "{1..3}", "{a,b}", "my app;rm -rf x", "it's", "$HOME", "`id`", "a\nb", "*", "~", "关单", `\`, "!x",
	} {
		out, err := exec.Command("bash", "-c", "printf %s "+shell.Word(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q becomes %s, which bash takes for %q (%v)", text, shell.Word(text), out, err)
		}
	}
	if got := shell.Word("/etc/sidecar.toml"); got != "/etc/sidecar.toml" {
		t.Errorf("got %s: what means itself needs no quotes", got)
	}
}
