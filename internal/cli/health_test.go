package cli_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// probed is an admin side that is alive and not ready, on ln.
func probed(t *testing.T, ln net.Listener) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			fmt.Fprint(w, `{"status":"alive"}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"status":"not ready","reasons":["redis: gone"],"holds":[{"topic":"mail","kind":"rate","reason":"6/m"}]}`)
	}))
	_ = server.Listener.Close()
	server.Listener = ln
	server.Start()
	t.Cleanup(server.Close)
}

func TestHealthAsksWhereTheSidecarListens(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "admin.sock")
	unix, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	probed(t, unix)
	probed(t, tcp)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t0ken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	for _, listen := range []string{tcp.Addr().String(), "0.0.0.0:" + port, ":" + port, "unix://" + socket} {
		config := writeConfig(t, minimal+fmt.Sprintf("[admin]\nlisten = %q\ntoken_file = %q\n", listen, token))
		if got := sidecar(t, "", "health", "-c", config); got.code != 0 || got.stdout != "ok\n" {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want ok", listen, got.code, got.stdout, got.stderr)
		}
		got := sidecar(t, "", "health", "-c", config, "--ready")
		if got.code != 1 || !strings.Contains(got.stderr, "not ready") || !strings.Contains(got.stderr, "redis: gone") {
			t.Errorf("%s: exit %d, stderr %q; want the reason", listen, got.code, got.stderr)
		}
		if want := "\n  topic \"mail\" is held back (rate): 6/m"; !strings.Contains(got.stderr, want) {
			t.Errorf("%s: stderr %q; want %q", listen, got.stderr, want)
		}
	}
}

func TestHealthSaysThatNobodyAnswers(t *testing.T) {
	for listen, want := range map[string]string{"127.0.0.1:1": "127.0.0.1:1", "": "nobody can be asked"} {
		got := sidecar(t, "", "health", "-c", writeConfig(t, minimal+fmt.Sprintf("[admin]\nlisten = %q\n", listen)))
		if got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: exit %d, stderr %q; want exit 1 and %q", listen, got.code, got.stderr, want)
		}
	}
}
