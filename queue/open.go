package queue

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// How long a command may take on the wire. A reply that comes later than that is lost, and with it what a claim took
// (until its lease ends), so this is long against any pause of Redis that is still healthy.
const (
	readTimeout  = 5 * time.Second
	writeTimeout = 5 * time.Second

	// idleTimeout is below what servers and firewalls usually allow an idle connection. What an outage made the
	// client open beyond its needs is closed a little later.
	idleTimeout = 20 * time.Second
)

// Open returns a client for the Redis that opts describe; topics are those it will be used for. It connects
// to nothing yet. The client repeats no command by itself (DESIGN 8).
//
// In a Cluster all keys of a topic must be in one slot: a hash tag in the topic ({mail}) or in the prefix
// sees to it, and without one Open refuses. Sentinels have a login of their own, or none.
func Open(opts RedisOptions, topics []Options) (redis.UniversalClient, error) {
	return open(opts, topics, false)
}

// OpenWatch returns a client as Open does, whose commands end with their context at the latest: for those who look while a
// person waits. A worker's commands do not, since a reply that is not waited for is a job whose lease has to run out.
func OpenWatch(opts RedisOptions, topics []Options) (redis.UniversalClient, error) {
	return open(opts, topics, true)
}

func open(opts RedisOptions, topics []Options, heedContext bool) (redis.UniversalClient, error) {
	opts = opts.Resolved()
	conf, err := tlsConfig(opts.TLS)
	if err != nil {
		return nil, err
	}
	shake := newHandshake(opts.Protocol, conf)
	all := opts.universal(shake)
	all.ContextTimeoutEnabled = heedContext
	switch {
	case opts.Cluster:
		if err := checkSlots(opts.KeyPrefix, topics); err != nil {
			return nil, err
		}
		cluster := all.Cluster()
		cluster.DisableRoutingPolicies = true // or it asks for COMMAND first, which a user with few rights may not
		return redis.NewClusterClient(cluster), nil
	case opts.Sentinel != "":
		failover := all.Failover()
		failover.MasterName = opts.Sentinel
		failover.SentinelUsername, failover.SentinelPassword = opts.SentinelUsername, string(opts.SentinelPassword)
		return redis.NewFailoverClient(failover), nil
	}
	single := all.Simple()
	if len(opts.Addrs) == 0 {
		if single.Network, single.Addr, err = address(opts.URL); err != nil {
			return nil, err
		}
	}
	return redis.NewClient(single), nil
}

// universal returns what is the same for a single server, Sentinels and a Cluster.
func (o RedisOptions) universal(shake *handshake) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:           o.Addrs,
		DB:              o.DB,
		Username:        o.Username,
		Password:        string(o.Password),
		Protocol:        o.Protocol,
		Dialer:          shake.dial,
		MaxRetries:      -1, // a command whose reply was lost may have run
		DialTimeout:     dialTimeout,
		DialerRetries:   1, // whoever needs the connection waits, with a backoff of its own
		ReadTimeout:     readTimeout,
		WriteTimeout:    writeTimeout,
		ConnMaxIdleTime: idleTimeout,
		DisableIdentity: true, // CLIENT SETINFO is an error before Redis 7.2
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
}

// address returns the network and the address that a URL names.
func address(raw string) (network, addr string, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", "", fmt.Errorf("url = %q: want a URL that can be read", RedactURL(raw))
	}
	if u.Scheme == "unix" {
		return "unix", u.Path, nil
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	return "tcp", net.JoinHostPort(u.Hostname(), port), nil
}

// tlsConfig reads the files named by opts; nil when TLS is off. ServerName is left to the dialer where it
// is not given: a Cluster has many hosts.
func tlsConfig(opts TLSOptions) (*tls.Config, error) {
	if !opts.Enabled {
		return nil, nil
	}
	conf := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         opts.ServerName,
		InsecureSkipVerify: opts.Insecure, //nolint:gosec // skip_verify is the operator's word
	}
	var errs []error
	if opts.CAFile != "" {
		pem, err := os.ReadFile(opts.CAFile)
		conf.RootCAs = x509.NewCertPool()
		if err != nil {
			errs = append(errs, fmt.Errorf("tls: ca_file: %w", err))
		} else if !conf.RootCAs.AppendCertsFromPEM(pem) {
			errs = append(errs, fmt.Errorf("tls: ca_file = %q: want at least one certificate in PEM", opts.CAFile))
		}
	}
	if opts.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(opts.CertFile, opts.KeyFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("tls: cert_file, key_file: %w", err))
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, errors.Join(errs...)
}

// checkSlots refuses topics whose keys are not in one slot of a Cluster: no script could touch them all.
func checkSlots(prefix string, topics []Options) error {
	var errs []error
	for _, topic := range topics {
		one, other := topic.OutsideSlot(prefix)
		switch {
		case one == "":
		case topic.List != nil:
			errs = append(errs, fmt.Errorf("list %q: %s and %s are in different slots of the cluster, no script can move a job between them: "+
				"give key and dead one hash tag, as in queue:{prod}:…, or the prefix", topic.Topic, one, other))
		default:
			errs = append(errs, fmt.Errorf("topic %q: %s and %s are in different slots of the cluster, no script can move a job between them: "+
				"give the topic a hash tag, as in {%s}, or the prefix", topic.Topic, one, other, topic.Topic))
		}
	}
	return errors.Join(errs...)
}
