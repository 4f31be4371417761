package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

func (b *builder) buildAdmin(t *table) {
	o := &b.cfg.Admin
	var tokenFile string
	t.decode(adminFields(o, &tokenFile))
	if tokenFile != "" {
		o.Token = b.passwordFrom(t, "token_file", tokenFile)
		if strings.ContainsFunc(string(o.Token), func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.faults(fmt.Errorf("token_file = %q: want one line of visible ASCII characters in it, or no header can carry it", tokenFile))
		}
	}
	if o.Listen == "" {
		return
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		t.faults(fmt.Errorf(`listen = %q: want host:port, such as "127.0.0.1:9180", or "" for none`, o.Listen))
		return
	}
	ip := net.ParseIP(host)
	if reachable := host != "localhost" && (ip == nil || !ip.IsLoopback()); reachable && tokenFile == "" {
		t.faults(fmt.Errorf("listen = %q: want token_file with it, or others than this host can read topics, depths and what is wrong", o.Listen))
	}
}
