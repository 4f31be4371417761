package admin

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// checkHost refuses a request by a name that is none of ours: by such a name any page on the web could make a browser
// ask here, with its own name pointing to this address (DNS rebinding). An address cannot be made to point elsewhere.
func (d *Door) checkHost(r *http.Request) error {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	known := func(name string) bool { return strings.EqualFold(name, host) }
	if known("localhost") || net.ParseIP(host) != nil || slices.ContainsFunc(d.opts.Hosts, known) || d.listensAs(host) {
		return nil
	}
	return fmt.Errorf("asked as %q: want an address, localhost or one of admin.hosts", r.Host)
}

// byName lets machines through that ask by a name of ours. By another one metrics and lengths are not told, and the two probes answer
// with nothing but their status. Where there is a token it keeps strangers out better than a name does, and monitoring may ask by any;
// to a unix socket no page of the web finds a way. HTTP/1.0 knows no Host, and no browser does without it.
func (d *Door) byName(h http.Handler) http.Handler {
	if d.opts.Token != "" || strings.HasPrefix(d.opts.Listen, unixScheme) {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := d.checkHost(r)
		switch {
		case err == nil, r.Host == "":
			h.ServeHTTP(w, r)
		case r.URL.Path == "/healthz", r.URL.Path == "/readyz":
			h.ServeHTTP(statusOnly{w}, r)
		default:
			http.Error(w, err.Error(), http.StatusMisdirectedRequest)
		}
	})
}

// listensAs reports that host is the name that listen says.
func (d *Door) listensAs(host string) bool {
	name, _, err := net.SplitHostPort(d.opts.Listen)
	return err == nil && name != "" && strings.EqualFold(name, host)
}

// checkSite refuses what another site makes a browser send: anything but a plain link that leads here, and nothing that writes.
func (d *Door) checkSite(r *http.Request) error {
	if err := d.cross.Check(r); err != nil { // Sec-Fetch-Site, else Origin against Host, for what writes
		return errors.New("sent by a page of another site: want one of the dashboard's own")
	}
	if !safe(r.Method) && !sameHost(r) {
		return errors.New("sent by a page of another site: want one of the dashboard's own")
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return nil
	}
	if safe(r.Method) && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return nil // a link
	}
	return errors.New("asked for by a page of another site: want a link, or a page of the dashboard's own")
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// sameHost reports that Origin and Referer, where the browser says them, are ours. "null" is nobody's.
func sameHost(r *http.Request) bool {
	for _, name := range []string{"Origin", "Referer"} {
		said := r.Header.Get(name)
		if said == "" {
			continue
		}
		_, rest, ok := strings.Cut(said, "://")
		host, _, _ := strings.Cut(rest, "/")
		if !ok || !strings.EqualFold(host, r.Host) {
			return false
		}
	}
	return true
}

// forwarded reports that a proxy has sent the request on: whoever it came from is not on this host then. nginx says nothing of
// that unless it is told to, but speaks HTTP/1.0 then, as nobody else does who asks for pages. Some tell of the scheme alone.
func forwarded(r *http.Request) bool {
	if !r.ProtoAtLeast(1, 1) {
		return true
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded-") || slices.Contains(proxyHeaders, name) {
			return true
		}
	}
	return false
}

// proxyHeaders are the other ones by which proxies and those who stand before them give themselves away, as net/http spells them.
var proxyHeaders = []string{
	"Forwarded", "Via", "X-Forwarded", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Forwarded-For", "True-Client-Ip", "Cf-Connecting-Ip",
}
