package admin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/internal/admin"
)

// guarded is a side that is not ready, with a token.
func guarded(token string) http.Handler {
	ready := func(context.Context) []string { return []string{"redis: no route to 10.0.0.7"} }
	return admin.Guard(admin.Handler(prometheus.NewRegistry(), ready, noHolds, none, "v-test"), token)
}

func TestWithoutTheTokenProbesSayTheirStatusOnly(t *testing.T) {
	tests := map[string]struct {
		path, authorization string
		code                int
		says                string
	}{
		"metrics":                   {"/metrics", "", 401, "token_file"},
		"the list":                  {"/", "", 401, "token_file"},
		"the legacy probe":          {"/probe?queue=mail", "", 401, "token_file"},
		"what there is not":         {"/none", "", 401, "token_file"},
		"alive":                     {"/healthz", "", 200, ""},
		"not ready":                 {"/readyz", "", 503, ""},
		"a wrong token":             {"/metrics", "Bearer s3cre", 401, "token_file"},
		"a wrong token, ready":      {"/readyz", "Bearer s3cret ", 503, ""},
		"no bearer":                 {"/metrics", "Basic s3cret", 401, "token_file"},
		"an empty token":            {"/metrics", "Bearer ", 401, "token_file"},
		"a probe by another name":   {"//readyz", "", 401, "token_file"},
		"metrics, with it":          {"/metrics", "Bearer s3cret", 200, ""},
		"not ready, with it":        {"/readyz", "Bearer s3cret", 503, "10.0.0.7"},
		"the legacy probe, with it": {"/probe?queue=mail", "Bearer s3cret", 404, "none is configured"},
		"alive, with it":            {"/healthz", "Bearer s3cret", 200, "v-test"},
		"what there is not with it": {"/none", "Bearer s3cret", 404, "not found"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+tt.path, nil)
			r.Header.Set("Authorization", tt.authorization)
			got := httptest.NewRecorder()
			guarded("s3cret").ServeHTTP(got, r)
			body := got.Body.String()
			if got.Code != tt.code || !strings.Contains(body, tt.says) || tt.says == "" && body != "" {
				t.Errorf("got %d %q, want %d …%s…", got.Code, body, tt.code, tt.says)
			}
			if strings.Contains(body, "s3cret") {
				t.Error("the answer shows the token")
			}
		})
	}
}

func TestWithoutATokenNoneIsAskedFor(t *testing.T) {
	got := httptest.NewRecorder()
	guarded("").ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
	if got.Code != 503 || !strings.Contains(got.Body.String(), "10.0.0.7") {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}
