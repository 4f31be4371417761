package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"sidecar/queue"
)

// healthPatience is a little more than what a probe may take.
const healthPatience = 4 * time.Second

type healthFlags struct{ ready bool }

func healthVerb() verb {
	return verb{
		name:  "health",
		usage: "[--ready]",
		short: "ask the sidecar that runs here whether it is alive, or ready",
		long: `
Asks /healthz at the configuration's admin.listen, for images without curl: exit code 0 when the sidecar answers that it is
alive, 1 when it does not. --ready asks /readyz, and prints why jobs would not run, and which topics are held back. A listen address of all interfaces is asked on
loopback. Reasons are told to whoever has the token only; the exit code is told to all.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(healthFlags)
			fs.BoolVar(&f.ready, "ready", false, "ask whether jobs can run")
			return f
		},
		run: health,
	}
}

func health(env Env, c call) int {
	if len(c.args) > 0 {
		return usageError(env, healthVerb(), "want no arguments, got %s", given(c.args))
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	if cfg.Admin.Listen == "" {
		return fail(env, "%s sets admin.listen = \"\", so that nobody can be asked", cfg.Path)
	}
	path := "/healthz"
	if c.flags.(*healthFlags).ready {
		path = "/readyz"
	}
	status, body, err := askAdmin(cfg.Admin.Listen, path, string(cfg.Admin.Token))
	switch {
	case err != nil:
		return fail(env, "%v", err)
	case status != http.StatusOK:
		return fail(env, "%s: %s", path, answerOf(body, status))
	}
	fmt.Fprintln(env.Stdout, strings.Join(append([]string{"ok"}, holdsOf(body)...), "\n  "))
	return exitOK
}

// askAdmin asks a sidecar's admin side and returns the status and the beginning of the body.
func askAdmin(listen, path, token string) (status int, body []byte, err error) {
	network, address := adminAddress(listen)
	client := &http.Client{Timeout: healthPatience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("nobody answers at admin.listen = %q: %w", listen, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, body, err
}

// adminAddress returns where to reach a listen address from this host.
func adminAddress(listen string) (network, address string) {
	if path, unix := strings.CutPrefix(listen, "unix://"); unix {
		return "unix", path
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "tcp", listen
	}
	switch ip := net.ParseIP(host); {
	case host == "", ip != nil && ip.IsUnspecified() && ip.To4() != nil:
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified():
		host = "::1"
	}
	return "tcp", net.JoinHostPort(host, port)
}

// answerOf returns what a probe's answer says, or its status where it says nothing.
func answerOf(body []byte, status int) string {
	var answer struct {
		Status  string   `json:"status"`
		Reasons []string `json:"reasons"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Status == "" {
		return http.StatusText(status) + ", and no reason: with token_file those are for whoever may read that file"
	}
	return strings.Join(slices.Concat([]string{answer.Status}, answer.Reasons, holdsOf(body)), "\n  ")
}

// holdsOf returns a line for each topic that is held back, as a probe's answer tells.
func holdsOf(body []byte) (lines []string) {
	var answer struct {
		Holds []queue.HeldTopic `json:"holds"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}
	for _, h := range answer.Holds {
		line := fmt.Sprintf("topic %q is held back (%s)", h.Topic, h.Kind)
		if h.By != "" {
			line += " by " + told(h.By)
		}
		if h.Reason != "" {
			line += ": " + told(h.Reason)
		}
		lines = append(lines, line)
	}
	return lines
}
