// Package config turns sidecar.toml into the options of its parts.
//
// It is strict: an unknown key, a wrong type or a value that cannot work is a fault, and all faults are reported
// at once, one line each, with the line of the file, what was found and what is wanted. What works but was
// hardly meant is a warning. No fault and no warning contains a password.
package config

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
	_ "time/tzdata" // PHP brings its own time zones; a slim image has none

	"sidecar/fastcgi"
	"sidecar/internal/alert"
	"sidecar/internal/spool"
	"sidecar/internal/trace"
	"sidecar/queue"
)

// Config is a configuration that holds. Its fields are named as in the TOML file.
type Config struct {
	Path     string
	Redis    queue.RedisOptions
	Admin    Admin
	FPM      map[string]fastcgi.PoolOptions // by name
	Topics   []Topic                        // those of profile list, too; sorted by name
	Spools   []spool.Options                // sorted by name
	Trace    trace.Options
	Alert    alert.Options
	Grace    time.Duration  // grace: how long jobs in hand may go on after TERM
	PIDFile  string         // pid_file: "" = none
	Timezone *time.Location // timezone: must be PHP's date.timezone, dead records carry local times
	Log      Log

	warnings []string
}

// Admin is [admin].
type Admin struct {
	Listen      string       // listen: host:port, or unix:// and a path, of metrics, probes, dashboard and API; "" = off
	SocketMode  os.FileMode  // socket_mode: who may connect to a unix socket
	Token       queue.Secret // what token_file holds: asked for where others than this host can reach listen, "" = not asked for
	Hosts       []string     // hosts: names by which browsers may ask, beside addresses and localhost
	Write       bool         // write: replay, drop, pause … also without a token, from this host
	ShowPayload bool         // show_payload
	Mask        []string     // mask: fields that are not shown, beside the obvious ones
	UndoDir     string       // undo_dir: where records are kept that were dropped or replayed
}

// MayWrite reports that somebody may replay, drop and pause by the dashboard.
func (a Admin) MayWrite() bool {
	return a.Listen != "" && (a.Write || a.Token != "" || strings.HasPrefix(a.Listen, "unix://"))
}

// Log says how the log looks.
type Log struct {
	Level  slog.Level // log_level
	Format string     // log: "text" or "json"
}

// Topic is one [topic.<name>] or [list.<name>], with what it takes over from [defaults]. Of a list Queue.List is set;
// whoever works with topics need not look.
type Topic struct {
	Name  string
	Pool  string // fpm: name of the pool in Config.FPM
	Queue queue.Options
	FPM   fastcgi.TopicOptions
}

// Profile is what the topic's keys are like: "delay" (CONTRACT 1) or "list" (CONTRACT 2).
func (t Topic) Profile() string {
	if t.Queue.List != nil {
		return "list"
	}
	return "delay"
}

// Default returns the configuration of an empty file: it has no topics and no pools, so it does not hold yet.
func Default() Config {
	return Config{
		Redis:    queue.DefaultRedisOptions(),
		Admin:    Admin{Listen: "127.0.0.1:9180", SocketMode: 0o660, UndoDir: "/var/lib/sidecar/undo"},
		FPM:      map[string]fastcgi.PoolOptions{},
		Grace:    25 * time.Second, // CONTRACT 1.6: release scripts kill after 30 s
		Timezone: time.Local,
		Trace:    trace.DefaultOptions(),
		Alert:    defaultAlert(),
		Log:      Log{Level: slog.LevelInfo, Format: "text"},
	}
}

// DefaultTopic returns a topic for which the file says nothing. Its workers are 0: the pool's children.
func DefaultTopic() Topic {
	return Topic{Pool: "default", Queue: queue.DefaultOptions(), FPM: fastcgi.DefaultTopicOptions()}
}

// DefaultList returns a list for which the file says nothing. Its keys are missing.
func DefaultList() Topic {
	t := DefaultTopic()
	list := queue.DefaultListOptions()
	t.Queue.List, t.Queue.Retry = &list, queue.DefaultListRetry()
	return t
}

// TopicNames returns the names of all topics, lists included, sorted.
func (c *Config) TopicNames() []string {
	names := make([]string, 0, len(c.Topics))
	for _, t := range c.Topics {
		names = append(names, t.Name)
	}
	return names
}

// Warnings returns what works but was hardly meant, as found when the file was read, one line each.
func (c *Config) Warnings() []string { return c.warnings }

// Load reads the configuration in path. Its error holds every fault, one line each, sorted by line.
func Load(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return Parse(path, data, os.LookupEnv)
}

// Parse is Load for a file that was read already; env looks up the environment.
// Files that hold secrets or certificates are still looked at.
func Parse(path string, data []byte, env func(string) (string, bool)) (*Config, error) {
	doc, err := parseDocument(path, data)
	if err != nil {
		return nil, err
	}
	b := builder{document: doc, cfg: Default(), env: env}
	b.cfg.Path = path
	b.build()
	if err := doc.err(); err != nil {
		return nil, err
	}
	b.cfg.warnings = doc.warningTexts()
	return &b.cfg, nil
}
