package config_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"sidecar/internal/config"
	"sidecar/queue"
)

func TestTheCollectorsHeadersAreReadAndHidden(t *testing.T) {
	file := secretFile(t, "Authorization: Bearer s3cret token\n\nX-Scope-OrgID:  7\n", 0o600)
	c := parse(t, rest+fmt.Sprintf("[trace]\nendpoint = \"http://127.0.0.1:4318\"\nheaders_file = %q\nsample = 0\n", file))
	want := map[string]queue.Secret{"Authorization": "Bearer s3cret token", "X-Scope-OrgID": "7"}
	if !maps.Equal(c.Trace.Headers, want) || c.Trace.Sample != 0 {
		t.Errorf("got %+v", c.Trace)
	}
	wantNoSecret(t, c, "s3cret")
}

func TestWhatIsWrongWithATraceIsSaidWithoutItsSecrets(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"no address":      {`endpoint = "127.0.0.1:4318"`, "endpoint: want an address"},
		"a login in it":   {`endpoint = "http://me:s3cret@host"`, "without login"},
		"too many":        {`sample = 1.5`, "sample = 1.5: want a share"},
		"not a number":    {`sample = nan`, "want a share"},
		"a text":          {`sample = "1"`, "want a share"},
		"no name":         {`service = ""`, "want a name"},
		"headers, none":   {fmt.Sprintf("headers_file = %q", secretFile(t, "s3cret\n", 0o600)), "line 1 is none"},
		"headers, where?": {`headers_file = "headers"`, "want an absolute path"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("sidecar.toml", []byte(rest+"[trace]\n"+tt.text+"\n"), noEnv)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want …%s…", err, tt.want)
			}
		})
	}
}
