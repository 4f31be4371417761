package cli_test

import (
	"strings"
	"testing"
)

func TestASpoolThatIsNotConfiguredIsNamed(t *testing.T) {
	none := writeConfig(t, minimal)
	if got := sidecar(t, "", "spool", "drain", "web", "-c", none); got.code != 2 || !strings.Contains(got.stderr, "a table [spool.web] makes it one") {
		t.Errorf("exit %d, stderr %q", got.code, got.stderr)
	}
	other := writeConfig(t, minimal+"\n[spool.api]\ndsn = \"sqlite:/var/lib/shop/spool.sqlite\"\n")
	if got := sidecar(t, "", "spool", "status", "web", "-c", other); got.code != 2 || !strings.Contains(got.stderr, `no spool "web"`) || !strings.Contains(got.stderr, "it has: api") {
		t.Errorf("exit %d, stderr %q", got.code, got.stderr)
	}
}
