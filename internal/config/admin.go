package config

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"sidecar/internal/mask"
)

// tokenLength is how many characters a token should have, so that nobody finds it by trying.
const tokenLength = 16

// unixScheme begins a listen that is a unix socket's path.
const unixScheme = "unix://"

func (b *builder) buildAdmin(t *table) {
	o := &b.cfg.Admin
	var tokenFile string
	t.decode(adminFields(o, &tokenFile))
	if tokenFile != "" {
		o.Token = b.passwordFrom(t, "token_file", tokenFile)
		b.checkToken(t, string(o.Token), tokenFile)
	}
	b.checkListen(t, tokenFile != "")
	for i, host := range o.Hosts {
		if !hostName(host) {
			t.faults(fmt.Errorf(`hosts[%d] = %q: want a name as browsers send it, without scheme, port and path, such as "ops.internal"`, i, host))
		}
	}
	for i, rule := range o.Mask {
		if err := mask.Check(rule); err != nil {
			t.faults(fmt.Errorf("mask[%d] = %q: %w", i, rule, err))
		}
	}
	if !filepath.IsAbs(o.UndoDir) || filepath.Clean(o.UndoDir) != o.UndoDir {
		t.faults(fmt.Errorf("undo_dir = %q: want an absolute, clean path", o.UndoDir))
	}
}

func (b *builder) checkToken(t *table, token, file string) {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		t.faults(fmt.Errorf("token_file = %q: want one line of visible ASCII characters in it, or no header can carry it", file))
	}
	if n := len(token); n > 0 && n < tokenLength {
		b.warn(t.line("token_file"), "%stoken_file: a token of %d characters can be found by trying; want %d or more, such as `openssl rand -hex 24` prints", t.label, n, tokenLength)
	}
}

// checkListen refuses what others than this host could reach, unless there is a token to ask for.
func (b *builder) checkListen(t *table, token bool) {
	o := &b.cfg.Admin
	if path, ok := strings.CutPrefix(o.Listen, unixScheme); ok {
		if err := checkSocket(path, o.SocketMode.Perm()&0o007 != 0, token); err != nil {
			t.faults(fmt.Errorf("listen = %q: %w", o.Listen, err))
		}
		return
	}
	if o.Listen == "" {
		return
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		t.faults(fmt.Errorf(`listen = %q: want host:port, such as "127.0.0.1:9180", unix:// and a path, or "" for none`, o.Listen))
		return
	}
	ip := net.ParseIP(host)
	if reachable := host != "localhost" && (ip == nil || !ip.IsLoopback()); reachable && !token {
		t.faults(fmt.Errorf("listen = %q: want token_file with it, or others than this host can read topics, depths and what is wrong", o.Listen))
	}
}

// socketPathLimit is how long a path the kernel takes for a socket's address.
const socketPathLimit = 107

func checkSocket(path string, others, token bool) error {
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return errors.New("want an absolute, clean path after unix://")
	case len(path) > socketPathLimit:
		return fmt.Errorf("want a path of %d characters at most, the kernel takes no longer one", socketPathLimit)
	case others && !token:
		return errors.New("want token_file with a socket_mode that lets every user connect, or a mode such as \"0660\"")
	}
	return nil
}

// hostName reports that s can be the name of a host in a URL.
func hostName(s string) bool {
	return s != "" && len(s) < 254 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
