package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/internal/proc"
	"sidecar/internal/spool"
	phpclient "sidecar/php-client"
)

const (
	// parameter is the FastCGI parameter without which doctor.php does nothing.
	parameter = "SIDECAR_DOCTOR"
	// poolPatience is how long a pool may take to answer: its status page, and then PHP.
	poolPatience = 9 * time.Second
	// answerLimit is above what doctor.php prints.
	answerLimit = 4 << 20
)

// settings are those of PHP that the checks read.
var settings = []string{
	"display_errors", "memory_limit", "max_execution_time", "disable_functions", "open_basedir", "date.timezone", "auto_prepend_file",
	"opcache.enable", "opcache.validate_timestamps", "opcache.revalidate_freq", "opcache.file_cache", "opcache.memory_consumption",
	"opcache.max_accelerated_files",
}

// functions are those that the bridge is worse off without: it lives without each of them.
var functions = []string{
	"error_log", "flush", "ini_set", "set_time_limit", "ignore_user_abort", "register_shutdown_function", "set_error_handler",
	"set_exception_handler", "ob_start", "error_get_last", "file_get_contents", "fopen", "stream_socket_client",
	"posix_kill", "getmypid", "json_decode", "json_encode", "random_bytes", "http_response_code",
}

// newPool returns a pool for questions alone: it does not run, and logs nothing.
func newPool(opts fastcgi.PoolOptions) *fastcgi.Pool {
	return fastcgi.NewPool(opts, slog.New(slog.DiscardHandler), fastcgi.NewMetrics(prometheus.NewRegistry(), []string{opts.Name}, nil))
}

// askPool asks for what there is to know of a pool and of those of topics that run in it.
func askPool(ctx context.Context, opts fastcgi.PoolOptions, topics []config.Topic) Pool {
	p := Pool{Opts: opts, UID: -1}
	for _, t := range topics {
		if t.Pool == opts.Name {
			p.Topics = append(p.Topics, t)
		}
	}
	begun, pool := time.Now(), newPool(opts)
	if path, ok := strings.CutPrefix(opts.Listen, "unix://"); ok {
		p.Socket = socketFile(path)
	}
	p.Survey = pool.Survey(ctx)
	if p.Survey.Err != nil {
		return p
	}
	p.readConf()
	p.askPHP(ctx, pool, begun)
	p.UID = p.childrensUID()
	return p
}

// childrensUID returns the user of the pool's children, as PHP or the pool's file says it.
func (p *Pool) childrensUID() int {
	if p.PHP != nil && p.PHP.UID >= 0 {
		return p.PHP.UID
	}
	if u, err := user.Lookup(p.Conf["user"]); err == nil {
		if uid, err := strconv.Atoi(u.Uid); err == nil {
			return uid
		}
	}
	return -1
}

func socketFile(path string) *SocketFile {
	stat, err := os.Stat(path)
	if err != nil {
		return nil
	}
	s := &SocketFile{Mode: stat.Mode()}
	if own, ok := stat.Sys().(*syscall.Stat_t); ok {
		s.UID, s.GID = int(own.Uid), int(own.Gid)
	}
	return s
}

// confOf returns the configuration that an FPM master has, by its title: "php-fpm: master process (/etc/php-fpm.conf)".
func confOf(pid int) (string, error) {
	if pid <= 1 {
		return "", errors.New("the process that listens is not seen from here")
	}
	title, err := proc.Command(pid)
	_, rest, isMaster := strings.Cut(title, "master process (")
	path, _, whole := strings.Cut(rest, ")")
	if err != nil || !isMaster || !whole {
		return "", fmt.Errorf("process %d does not say in its title which php-fpm.conf it has", pid)
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)) // where it was started, but for one that has gone elsewhere
	if err != nil {
		return "", fmt.Errorf("process %d has %s, from where is not seen: %w", pid, path, err)
	}
	return filepath.Join(dir, path), nil
}

// readConf reads what PHP-FPM reads.
func (p *Pool) readConf() {
	path, err := confOf(p.Survey.Master)
	if err != nil {
		p.ConfErr = err
		return
	}
	p.ConfPath = path
	// In a container of its own the master has other files than this process.
	root := fmt.Sprintf("/proc/%d/root", p.Survey.Master)
	if !readable(filepath.Join(root, path)) {
		root = "/"
	}
	conf := ini{}
	if p.ConfErr = (iniReader{root: root, env: environOf(p.Survey.Master)}).read(path, conf); len(conf) == 0 {
		return
	}
	if p.Global = conf["global"]; p.Global == nil {
		p.Global = section{}
	}
	for name, pool := range conf {
		if name != "global" && name != "" && sameListen(p.Opts.Listen, pool["listen"]) {
			p.Conf = pool
		}
	}
	if p.Conf == nil && p.ConfErr == nil {
		p.ConfErr = fmt.Errorf("%s and what it includes has no pool that listens there", path)
	}
}

func readable(path string) bool {
	f, err := os.Open(path)
	if err == nil {
		_ = f.Close()
	}
	return err == nil
}

// sameListen reports that a pool's listen is where the configuration says.
func sameListen(ours, theirs string) bool {
	network, name, _ := strings.Cut(ours, "://")
	if network == "unix" {
		return theirs != "" && real(name) == real(theirs)
	}
	_, ourPort, err := net.SplitHostPort(name)
	if err != nil {
		return false
	}
	_, theirPort, err := net.SplitHostPort(theirs)
	if err != nil {
		theirPort = theirs // a bare port
	}
	return ourPort == theirPort
}

// real follows symlinks, such as /var/run.
func real(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return filepath.Clean(path)
}

// order is what doctor.php is told.
type order struct {
	Nonce     string   `json:"nonce"`
	Ini       []string `json:"ini"`
	Functions []string `json:"functions"`
	Files     []string `json:"files"`
}

// askPHP has doctor.php run in the pool.
func (p *Pool) askPHP(ctx context.Context, pool *fastcgi.Pool, begun time.Time) {
	aide := pool.NewAide("doctor", parameter, phpclient.Doctor)
	if _, p.PlaceErr = aide.Place(); p.PlaceErr != nil {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, begun.Add(poolPatience))
	defer cancel()
	o := order{Nonce: nonce(), Ini: settings, Functions: functions, Files: p.files()}
	body, err := json.Marshal(o)
	if err != nil {
		p.PHPErr = err
		return
	}
	p.Asked = time.Now()
	printed, err := aide.AskAtOnce(ctx, string(body), answerLimit)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no child was free to answer within %s", poolPatience)
	}
	if err != nil {
		p.PHPErr = err
		return
	}
	p.PHP, p.PHPErr = readPHP(printed, o.Nonce)
}

func nonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// errNoAnswer reports that PHP ran something, and not doctor.php to its end.
var errNoAnswer = errors.New("no whole answer from doctor.php")

// readPHP takes the answer out of what was printed: PHP can be set up to print something with every script.
func readPHP(printed []byte, nonce string) (*PHP, error) {
	mark := []byte("\nsidecar-doctor " + nonce)
	_, rest, begun := bytes.Cut(printed, append(bytes.Clone(mark), '\n'))
	text, _, ended := bytes.Cut(rest, append(bytes.Clone(mark), " end"...))
	if !begun || !ended {
		return nil, fmt.Errorf("%w: %q", errNoAnswer, printed[:min(200, len(printed))])
	}
	php := new(PHP)
	if err := json.Unmarshal(text, php); err != nil {
		return nil, fmt.Errorf("no answer from doctor.php: %w", err)
	}
	return php, nil
}

// files are the paths of the code that the pool is to run, each once.
func (p *Pool) files() (paths []string) {
	if p.Opts.BridgePath != "" {
		paths = append(paths, p.Opts.BridgePath)
	}
	for _, t := range p.Topics {
		paths = append(paths, codeOf(t)...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// codeOf returns the files that a topic names.
func codeOf(t config.Topic) (paths []string) {
	paths = append(paths, t.FPM.Script, t.FPM.Bootstrap)
	for _, route := range t.FPM.Routes {
		paths = append(paths, route.Script)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// askSpools looks into the tables that the pool opens.
func askSpools(ctx context.Context, cfg *config.Config, pool string) (list []Spool) {
	ctx, cancel := context.WithTimeout(ctx, poolPatience)
	defer cancel()
	for _, o := range cfg.Spools {
		if o.Pool != pool {
			continue
		}
		s := Spool{Name: o.Name, Manual: o.Every == 0}
		aide := newPool(cfg.FPM[pool]).NewAide("spool", spool.Parameter, phpclient.Spool)
		status, err := spool.NewTable(o, atOnce{aide}).Status(ctx)
		s.Rows, s.Oldest, s.Err = status.Rows, status.Oldest, err
		list = append(list, s)
	}
	return list
}

// atOnce asks without a slot.
type atOnce struct{ aide *fastcgi.Aide }

// Ask has spool.php answer.
func (a atOnce) Ask(ctx context.Context, body string, limit int) ([]byte, error) {
	if _, err := a.aide.Place(); err != nil {
		return nil, err
	}
	return a.aide.AskAtOnce(ctx, body, limit)
}
