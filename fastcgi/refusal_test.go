package fastcgi

import (
	"strings"
	"testing"
)

// What comes behind is a trace, which may be long.
func TestARefusalSaysWhatTheFatalErrorSaysFirst(t *testing.T) {
	stderr := "PHP message: PHP Fatal error:  Uncaught Error: Call to undefined function json_decode() in /run/bridge.php:34\nStack trace:\n" +
		strings.Repeat("#0 /run/bridge.php(1268): Sidecar\\Bridge\\Order::take()\n", 20)
	said := facts{status: 500, stderr: []byte(stderr)}.refusal()
	if !strings.Contains(said, "undefined function json_decode()") || len(said) > 400 {
		t.Errorf("got %q", said)
	}
}
