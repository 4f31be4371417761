package config_test

import (
	"fmt"
	"strings"
	"testing"

	"sidecar/internal/config"
)

func TestTheAdminTokenArrivesAndIsNeverShown(t *testing.T) {
	const token = "Zx9-tOkEn-5q-8f2a"
	file := secretFile(t, token+"\n", 0o600)
	c := parse(t, fmt.Sprintf("[admin]\nlisten = \"0.0.0.0:9180\"\ntoken_file = %q\n", file)+rest)
	if string(c.Admin.Token) != token || c.Admin.Listen != "0.0.0.0:9180" {
		t.Errorf("got %q on %s", string(c.Admin.Token), c.Admin.Listen)
	}
	if shown := fmt.Sprintf("%v %+v %#v", c.Admin, *c, c.Admin); strings.Contains(shown, token) {
		t.Errorf("shown: %s", shown)
	}
	if len(c.Warnings()) > 0 {
		t.Errorf("warnings: %q", c.Warnings())
	}
}

// Whoever can reach the port reads what it says, so that only this host may without a token.
func TestTheAdminPortLeavesThisHostWithATokenOnly(t *testing.T) {
	for listen, alone := range map[string]bool{
		"127.0.0.1:9180": true, "127.8.9.1:0": true, "localhost:9180": true, "[::1]:9180": true,
		":9180": false, "0.0.0.0:9180": false, "[::]:9180": false, "10.0.0.7:9180": false, "admin.internal:9180": false, "[::ffff:10.0.0.7]:1": false,
	} {
		text := fmt.Sprintf("[admin]\nlisten = %q\n", listen) + rest
		if _, err := config.Parse("sidecar.toml", []byte(text), noEnv); (err == nil) != alone {
			t.Errorf("%s: %v", listen, err)
		}
		empty := strings.Replace(text, "[admin]\n", fmt.Sprintf("[admin]\ntoken_file = %q\n", secretFile(t, "\n", 0o600)), 1)
		if _, err := config.Parse("sidecar.toml", []byte(empty), noEnv); err == nil {
			t.Errorf("%s: an empty token is taken", listen)
		}
	}
}

// Such a token would lock out everybody, whoever has the file.
func TestATokenThatNoHeaderCanCarryIsRefused(t *testing.T) {
	for _, token := range []string{" \n", "first\nsecond\n", "two words", "tab\tin-it", "t\xc3\xb6ken", "trailing \n"} {
		file := secretFile(t, token, 0o600)
		_, err := config.Parse("sidecar.toml", []byte(fmt.Sprintf("[admin]\ntoken_file = %q\n", file)+rest), noEnv)
		if err == nil || strings.Contains(strings.ReplaceAll(err.Error(), file, ""), strings.TrimSpace(token)) && strings.TrimSpace(token) != "" {
			t.Errorf("%q: %v", token, err)
		}
	}
}

func TestTheAdminSideListensOnAUnixSocketWithTheModeThatIsSet(t *testing.T) {
	c := parse(t, "[admin]\nlisten = \"unix:///run/sidecar/admin.sock\"\n"+rest)
	if c.Admin.Listen != "unix:///run/sidecar/admin.sock" || c.Admin.SocketMode != 0o660 {
		t.Errorf("got %s with mode %#o", c.Admin.Listen, c.Admin.SocketMode)
	}
	c = parse(t, "[admin]\nlisten = \"unix:///run/sidecar/admin.sock\"\nsocket_mode = \"0600\"\n"+rest)
	if c.Admin.SocketMode != 0o600 {
		t.Errorf("got mode %#o", c.Admin.SocketMode)
	}
}

func TestATokenThatCanBeFoundByTryingIsWarnedOf(t *testing.T) {
	file := secretFile(t, "short\n", 0o600)
	c := parse(t, fmt.Sprintf("[admin]\ntoken_file = %q\n", file)+rest)
	if got := fmt.Sprint(c.Warnings()); !strings.Contains(got, "5 characters") || strings.Contains(got, "short") {
		t.Errorf("warnings: %s", got)
	}
}
