package queue

import "time"

// ScoreUnit is the unit of the scores in a topic's pool.
type ScoreUnit string

// The score units.
const (
	Milliseconds ScoreUnit = "ms"
	Seconds      ScoreUnit = "s"
)

// Idempotency says which marks on the old key idem:<topic>:<uuid> are believed.
type Idempotency string

// The idempotency modes (CONTRACT 1.4).
const (
	// IdempotencyOff neither reads nor writes marks.
	IdempotencyOff Idempotency = "off"
	// IdempotencyOn believes only our own mark, which says done.
	IdempotencyOn Idempotency = "on"
	// IdempotencyLegacy also believes the old consumer's mark, which it sets before the work and
	// never takes back: a job the old consumer failed or died on is acknowledged unrun.
	IdempotencyLegacy Idempotency = "legacy"
)

// Options are one topic's queue settings, named as in the TOML file.
type Options struct {
	Topic        string
	Workers      int             // workers: jobs at once on this sidecar, at most
	Lease        time.Duration   // lease
	Retry        []time.Duration // retry: the ladder; its length is the number of retries
	MaxCrashes   int             // max_crashes
	ScanInterval time.Duration   // scan_interval
	Batch        int             // batch
	ReadyMax     int             // ready_max
	ScoreUnit    ScoreUnit       // score_unit
	Idempotency  Idempotency     // idempotency
}

// DefaultOptions returns the defaults of CONTRACT 1.1 and 1.3. Workers is 0: the pool's children.
func DefaultOptions() Options {
	return Options{
		Lease:        30 * time.Second,
		Retry:        []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute},
		MaxCrashes:   5,
		ScanInterval: 100 * time.Millisecond,
		Batch:        200,
		ReadyMax:     60000,
		ScoreUnit:    Milliseconds,
		Idempotency:  IdempotencyOff,
	}
}

// Secret is a password. It never prints itself.
type Secret string

// String hides the secret.
func (s Secret) String() string { return "[hidden]" }

// GoString hides the secret.
func (s Secret) GoString() string { return "[hidden]" }

// RedisOptions say where Redis is and how to talk to it, named as in the TOML file's [redis].
type RedisOptions struct {
	URL       string   // url: redis://, rediss://, unix://; single server
	Addrs     []string // addrs: seed nodes of a Cluster, or the Sentinels
	Sentinel  string   // sentinel: the master's name; addrs are Sentinels then
	Cluster   bool     // cluster: addrs are Cluster nodes
	Username  string   // username: ACL user
	Password  Secret   // from password_file or the environment
	DB        int      // db: database number, not for Cluster
	KeyPrefix string   // key_prefix: before every key
	Protocol  int      // protocol: 3, or 2 for old servers and proxies
	TLS       TLSOptions
}

// TLSOptions are [redis.tls].
type TLSOptions struct {
	Enabled    bool
	CAFile     string
	CertFile   string
	KeyFile    string
	ServerName string
	Insecure   bool // skip_verify
}
