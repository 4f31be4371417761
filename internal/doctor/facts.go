package doctor

import (
	"io/fs"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/queue"
)

// Facts are all that the checks go by.
type Facts struct {
	Config *config.Config
	Topics []config.Topic // those that were asked for
	Host   Host
	Redis  Redis
	Pools  []Pool
	Spools []Spool
}

// Redis is what is known of the servers and of the topics' keys.
type Redis struct {
	Err       error // why it cannot be asked at all; the rest is empty then
	Lost      error // why it answered no more at some point; what comes behind that is missing
	Dangers   []queue.Danger
	Servers   []Server
	Topics    []TopicKeys
	Strangers []string // topics with keys that are not configured
	Unasked   []Unasked
	Sidecars  []queue.Heartbeat      // those heard of within a day
	Pauses    map[string]queue.Pause // by topic
	PausesErr error                  // their key is of another type
	DeafErr   error                  // why the sidecars could not be heard
	Now       time.Time              // by Redis's clock, when these were read
	Targets   map[string]queue.AlertTarget
	CutShort  map[string]CutShort // by topic, within an hour; of all sidecars
}

// unheard reports that nothing is known of sidecars, whether there are some or not.
func (r Redis) unheard() bool { return r.DeafErr != nil || r.Now.IsZero() }

// Unasked is a question that this user may not ask, and what therefore is not known.
type Unasked struct {
	Where   string
	Command string
	Err     error
}

// Server is what one server tells.
type Server struct {
	Name    string // its address
	Local   bool   // it runs on this host
	Info    map[string]string
	Config  map[string]string // empty where CONFIG is refused
	Slow    []SlowCommand
	Clients []Client
	Cluster map[string]string // CLUSTER INFO, empty where it is none
}

// SlowCommand is an entry of the slow log, without what it was about.
type SlowCommand struct {
	Name  string
	Keys  []string // of scripts
	Took  time.Duration
	Since time.Duration
}

// Client is one connection to a server.
type Client struct {
	Addr, Name, Command string
}

// TopicKeys is what is known of one topic's keys.
type TopicKeys struct {
	Topic     config.Topic
	RightsErr error // what the user may not do, of all that it needs
	Depths    queue.Depths
	Now       queue.ServerTime
	Looks     []queue.KeyLook
	Overdue   int64         // claims whose lease has been over for longer than overdueFor
	Left      []queue.Shard // shards that nobody takes from
	OtherDBs  []int         // databases that have keys of these names, too
	Prefixes  []string      // … behind which other keys of these names are, where this topic has some of its own
}

// used reports that the topic has jobs.
func (k TopicKeys) used() bool {
	return k.Depths.Pool+k.Depths.Ready+k.Depths.Running+k.Depths.Dead > 0
}

// Pool is what is known of one PHP-FPM pool.
type Pool struct {
	Opts     fastcgi.PoolOptions
	Topics   []config.Topic // those that run in it
	Survey   fastcgi.Survey
	Socket   *SocketFile // nil: TCP, or not to be seen
	ConfPath string      // php-fpm.conf, "" where it is not known
	ConfErr  error       // why it is not known, or not to be read
	Global   section     // [global], nil where it is not known
	Conf     section     // the pool's own
	PlaceErr error       // why the file that looks could not be put into bridge_dir
	PHP      *PHP        // nil: see PHPErr
	PHPErr   error
	UID      int       // of its children, -1: not known
	Asked    time.Time // when PHP was asked, by this host's clock
}

// SocketFile is a unix socket as the file system shows it.
type SocketFile struct {
	Mode     fs.FileMode
	UID, GID int
}

// Spool is what is known of one [spool.<name>].
type Spool struct {
	Name   string
	Manual bool // nothing drains it but the command
	Err    error
	Rows   int
	Oldest time.Duration
}

// Host is what is known of this host and of the service on it.
type Host struct {
	UID        int // of this process
	Hugepages  string
	Overcommit string
	MaxFiles   uint64 // the hard limit of this process
	Service    *Service
	PIDFile    string // what is wrong with pid_file, "" where nothing is
	UndoDir    string // what is wrong with admin.undo_dir, "" where nothing is, or nobody may write

	NamesElsewhere bool // users may be in a directory service, which is not asked
}

// Service is the systemd unit of the sidecar, where there is one.
type Service struct {
	Path        string
	User        string
	UID         int  // -1: no such user in this host's file
	Dynamic     bool // systemd makes the user when it starts the service
	GIDs        []int
	StopTimeout time.Duration // TimeoutStopSec
	MaxFiles    uint64        // LimitNOFILE, 0: the system's
}

// PHP is what the pool's PHP says of itself.
type PHP struct {
	Version  string             `json:"php"`
	UID      int                `json:"uid"` // -1: posix is missing
	Time     float64            `json:"time"`
	Timezone string             `json:"timezone"`
	Ini      map[string]*string `json:"ini"` // nil: no such setting
	Missing  []string           `json:"missing"`
	Opcache  *Opcache           `json:"opcache"`
	Files    []PHPFile          `json:"files"`
}

// Opcache is the state of PHP's cache of compiled files.
type Opcache struct {
	Full     bool  `json:"full"`
	Used     int64 `json:"used"`
	Free     int64 `json:"free"`
	Wasted   int64 `json:"wasted"`
	Keys     int64 `json:"keys"`
	MaxKeys  int64 `json:"max_keys"`
	Restarts int64 `json:"restarts"`
}

// PHPFile is a file as the pool's PHP sees it.
type PHPFile struct {
	Path     string `json:"path"`
	Error    string `json:"error"` // missing, unreadable or syntax
	Why      string `json:"why"`
	SHA1     string `json:"sha1"`
	Unparsed bool   `json:"unparsed"` // too large, or PHP has no tokenizer
}

// ini returns a setting of PHP, "" where it has none.
func (p *PHP) ini(name string) string {
	if v := p.Ini[name]; v != nil {
		return *v
	}
	return ""
}
