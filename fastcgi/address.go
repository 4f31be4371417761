package fastcgi

import (
	"net/url"
	"strings"
)

// address is where FPM listens, in net.Dial's terms.
type address struct {
	network string // unix or tcp
	name    string // path or host:port
}

func (a address) String() string { return a.network + "://" + a.name }

func (a address) unix() bool { return a.network == "unix" }

// parseListen reads a listen option that Validate has passed.
func parseListen(listen string) address {
	network, name, _ := strings.Cut(listen, "://")
	return address{network: network, name: name}
}

// statusPage returns where FPM's status page is and its path there; "" where there is none.
func (o PoolOptions) statusPage() (address, string) {
	if o.Status == "" || strings.HasPrefix(o.Status, "/") {
		return parseListen(o.Listen), o.Status
	}
	u, err := url.Parse(o.Status)
	if err != nil {
		return address{}, ""
	}
	if u.Scheme == "unix" {
		return address{network: "unix", name: u.Path}, u.Query().Get("path")
	}
	return address{network: "tcp", name: u.Host}, u.Path
}

// ownStatusPage reports that the status page has a socket of its own (pm.status_listen), which answers while all children are busy.
func (o PoolOptions) ownStatusPage() bool {
	return o.Status != "" && !strings.HasPrefix(o.Status, "/")
}
