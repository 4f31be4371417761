package queue

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// RedisOptions say where Redis is and how to talk to it, named as in the TOML file's [redis].
type RedisOptions struct {
	URL       string   // url: redis://, rediss://, unix://; single server. User and password in it count only where Username and Password are empty
	Addrs     []string // addrs: host:port of a single server, of the Cluster's seed nodes, or of the Sentinels
	Sentinel  string   // sentinel: the master's name; addrs are Sentinels then
	Cluster   bool     // cluster: addrs are Cluster nodes
	Username  string   // username: ACL user
	Password  Secret   // from password_file, the environment or the url
	DB        int      // db: database number, not for Cluster; a number in the url says the same
	KeyPrefix string   // key_prefix: before every key
	Protocol  int      // protocol: 3, or 2 for old servers and proxies
	TLS       TLSOptions

	SentinelUsername string // sentinel_username: ACL user of the Sentinels, who know nothing of the servers' users
	SentinelPassword Secret // from sentinel_password_file or the environment; "" = the Sentinels ask for none
}

// TLSOptions are [redis.tls].
type TLSOptions struct {
	Enabled    bool   // enabled: on as well with tls = true, or a rediss:// url
	CAFile     string // ca_file: PEM of the authority that signed the server's certificate, "" = the system's
	CertFile   string // cert_file: PEM of the client's certificate
	KeyFile    string // key_file: PEM of its key
	ServerName string // server_name: the name expected in the certificate, "" = the host
	Insecure   bool   // skip_verify: accept any certificate
}

// DefaultRedisOptions returns the defaults of [redis].
func DefaultRedisOptions() RedisOptions {
	return RedisOptions{URL: "redis://127.0.0.1:6379", Protocol: 3}
}

// urlHint is for the password that broke a URL.
const urlHint = `in a password write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23 and % as %25, or use password_file`

// Validate reports every bad option at once. Each fault begins with the option's name in the TOML file,
// and none contains a password.
func (o RedisOptions) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	switch {
	case o.URL == "" && len(o.Addrs) == 0:
		bad(`url = "": want a URL such as "redis://127.0.0.1:6379/0", or addrs`)
	case o.URL != "" && len(o.Addrs) > 0:
		bad("addrs: want either url or addrs, found both")
	case o.URL != "" && (o.Cluster || o.Sentinel != ""):
		bad("url = %q: want addrs = [\"host:port\", …] with sentinel or cluster, a url names one server", RedactURL(o.URL))
	case o.URL != "":
		errs = append(errs, o.validateURL())
	default:
		errs = append(errs, o.validateAddrs())
	}
	if o.Sentinel != "" && o.Cluster {
		bad("sentinel = %q: want either sentinel or cluster, found both", o.Sentinel)
	}
	errs = append(errs, o.validateSentinelLogin())
	if o.DB < 0 {
		bad("db = %d: want zero or more", o.DB)
	}
	if o.Cluster && o.DB > 0 {
		bad("db = %d: want 0 with cluster, a Cluster has no other", o.DB)
	}
	if o.Protocol != 2 && o.Protocol != 3 {
		bad("protocol = %d: want 3, or 2 for old servers and proxies", o.Protocol)
	}
	if (o.TLS.CertFile == "") != (o.TLS.KeyFile == "") {
		bad("tls: want cert_file and key_file together, found one of them")
	}
	return errors.Join(errs...)
}

// validateSentinelLogin checks what is for the Sentinels alone.
func (o RedisOptions) validateSentinelLogin() error {
	switch {
	case o.SentinelUsername != "" && o.Sentinel == "":
		return fmt.Errorf("sentinel_username = %q: want sentinel = \"<master>\" with it", o.SentinelUsername)
	case o.SentinelUsername != "" && o.SentinelPassword == "":
		return fmt.Errorf("sentinel_username = %q: want sentinel_password_file with it", o.SentinelUsername)
	}
	return nil
}

// validateURL checks a single server's URL more strictly than the client library does, whose texts would also
// repeat what could be the password.
func (o RedisOptions) validateURL() error {
	shown := RedactURL(o.URL)
	u, err := url.Parse(o.URL)
	if err != nil || strings.HasSuffix(shown, hidden) {
		return fmt.Errorf("url = %q: want a URL that can be read; %s", shown, urlHint)
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch u.Scheme {
	case "redis", "rediss":
		if u.Host == "" {
			bad("url = %q: want a host in it", shown)
		}
	case "unix":
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			bad(`url = %q: want an absolute path, with three slashes: "unix:///run/redis.sock"`, shown)
		}
		if o.TLS.Enabled {
			bad("tls: want none over a unix socket")
		}
	default:
		return fmt.Errorf(`url = %q: want "redis://", "rediss://" or "unix://" in front`, shown)
	}
	if db, found, err := databaseOf(u); err != nil {
		bad("url = %q: want nothing but a database number after the host", shown)
	} else if found && o.DB != 0 && o.DB != db {
		bad("db = %d: want it in the url or here, the url says %d", o.DB, db)
	}
	if name := u.User.Username(); name != "" && o.Username != "" && o.Username != name {
		bad("username = %q: want it in the url or here, the url has another one", o.Username)
	}
	if _, set := u.User.Password(); u.User != nil && !set && o.Password == "" {
		bad("url = %q: want :password@ in it (the colon is missing), or password_file beside the user name", shown)
	}
	for name := range u.Query() {
		if name != "db" { // the client's own options could undo what moving a job relies on, max_retries above all
			bad("url = %q: want no option in it but ?db=", shown)
			break
		}
	}
	if u.Fragment != "" {
		bad("url = %q: want no #; %s", shown, urlHint)
	}
	return errors.Join(errs...)
}

// databaseOf returns the database number in u, and whether it has one.
func databaseOf(u *url.URL) (n int, found bool, err error) {
	text := u.Query().Get("db")
	if u.Scheme != "unix" && text == "" {
		text = strings.Trim(u.Path, "/")
	}
	if text == "" {
		return 0, false, nil
	}
	db, err := strconv.ParseUint(text, 10, 31)
	return int(db), true, err
}

// Resolved returns o with what its URL says moved to the options of that name: user, password, database, TLS.
// Nothing that prints the result can then show the password. A URL that does not hold is left as it is.
func (o RedisOptions) Resolved() RedisOptions {
	u, err := url.Parse(o.URL)
	if err != nil || o.URL == "" || o.validateURL() != nil {
		return o
	}
	if password, ok := u.User.Password(); ok && o.Password == "" {
		o.Password = Secret(password)
	}
	if o.Username == "" {
		o.Username = u.User.Username()
	}
	if db, found, _ := databaseOf(u); found {
		o.DB = db
	}
	o.TLS.Enabled = o.TLS.Enabled || u.Scheme == "rediss"
	u.User = nil
	o.URL = u.String()
	return o
}

func (o RedisOptions) validateAddrs() error {
	var errs []error
	for i, addr := range o.Addrs {
		host, port, err := net.SplitHostPort(addr)
		if n, perr := strconv.Atoi(port); err != nil || perr != nil || host == "" || n < 1 || n > 65535 || strings.ContainsAny(addr, "@/") {
			errs = append(errs, fmt.Errorf(`addrs[%d] = %q: want host:port, such as "10.0.0.1:6379"`, i, redactAddr(addr)))
		}
	}
	if len(o.Addrs) > 1 && o.Sentinel == "" && !o.Cluster {
		errs = append(errs, fmt.Errorf("addrs: want cluster = true or sentinel = \"<master>\" with %d addresses; servers that stand alone want a sidecar each", len(o.Addrs)))
	}
	return errors.Join(errs...)
}

// redactAddr returns addr as it may be shown: one with a login in it, or a URL, by its kind only.
func redactAddr(addr string) string {
	if strings.Contains(addr, "://") || strings.Contains(addr, "@") {
		return RedactURL(addr)
	}
	return addr
}

// InDB returns the options for another database of the same server.
func (o RedisOptions) InDB(n int) RedisOptions {
	o = o.Resolved()
	o.DB = n
	if u, err := url.Parse(o.URL); err == nil && o.URL != "" {
		if u.Scheme != "unix" {
			u.Path = ""
		}
		u.RawQuery = "" // db=, of a unix socket
		o.URL = u.String()
	}
	return o
}
