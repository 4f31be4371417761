package doctor

import (
	"fmt"
	"net/url"
	"strings"

	"sidecar/internal/shell"
	"sidecar/queue"
)

// cliFor is how redis-cli is called to reach the server of the configuration and its database, but for a password, which it
// takes from REDISCLI_AUTH. Of a Cluster or of Sentinels the caller has to choose the node.
func cliFor(o queue.RedisOptions) string {
	o = o.Resolved()
	call := "redis-cli" + nodeOf(o)
	if o.DB != 0 {
		call += fmt.Sprintf(" -n %d", o.DB)
	}
	return call
}

// nodeOf are redis-cli's options for where the one server listens that o names, as far as it would not look there by itself.
func nodeOf(o queue.RedisOptions) (options string) {
	u, err := url.Parse(o.URL)
	if err != nil || o.URL == "" || o.Cluster || len(o.Addrs) > 0 {
		return ""
	}
	if u.Scheme == "unix" {
		return " -s " + shell.Word(u.Path)
	}
	if host := u.Hostname(); host != "" && host != "127.0.0.1" && host != "localhost" {
		options += " -h " + shell.Word(host)
	}
	if port := u.Port(); port != "" && port != "6379" {
		options += " -p " + port
	}
	if o.TLS.Enabled {
		options += " --tls"
	}
	return options
}

// reach has the remedies call redis-cli so that it reaches that server: on a host with two of them the line would change the other.
func reach(list []Finding, o queue.RedisOptions) []Finding {
	call := cliFor(o)
	for i := range list {
		list[i].Do = strings.ReplaceAll(list[i].Do, "redis-cli", call)
	}
	return list
}
