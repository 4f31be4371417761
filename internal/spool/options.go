package spool

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"sidecar/queue"
)

// Options are one [spool.<name>] table, named as in the TOML file.
type Options struct {
	Name     string
	DSN      string        // dsn: as PDO takes it
	Username string        // username
	Password queue.Secret  // what password_file holds
	Pool     string        // fpm: whose user opens the database
	Every    time.Duration // drain_every: 0 = by command only
	Batch    int           // batch: rows at once
	Rate     int           // rate: rows a second at most, 0 = as fast as it goes
}

// DefaultOptions returns the defaults of a spool. DSN has none.
//
// Rate is what a Redis and its consumers take beside their work: the 6,000 jobs of half a minute at 200 a second are in
// after twelve seconds.
func DefaultOptions() Options { return Options{Pool: "default", Batch: 100, Rate: 500} }

const (
	// maxBatch keeps the requests that delete a batch below 16 KB: PHP keeps a longer body in a file, and there is a
	// password in it (FPM-FACTS 8).
	maxBatch = 200
	minEvery = time.Second
)

// Validate reports every bad option at once. Each fault begins with the option's name in the TOML file.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if fault := dsnFault(o.DSN); fault != "" {
		bad("dsn: want %s", fault)
	}
	if o.Every != 0 && o.Every < minEvery {
		bad("drain_every = %q: want at least %q, or \"0s\" to drain by command only", o.Every, minEvery)
	}
	if o.Batch < 1 || o.Batch > maxBatch {
		bad("batch = %d: want 1 to %d", o.Batch, maxBatch)
	}
	if o.Rate < 0 {
		bad("rate = %d: want rows a second, or 0 for no limit", o.Rate)
	}
	return errors.Join(errs...)
}

// dsnFault says what is wanted instead of dsn, "" if nothing is wrong with it. The DSN is not shown: it may hold a password.
func dsnFault(dsn string) string {
	path, isSqlite := strings.CutPrefix(dsn, "sqlite:")
	rest, isMySQL := strings.CutPrefix(dsn, "mysql:")
	switch {
	case isSqlite && !strings.HasPrefix(path, "/"):
		return `an absolute path behind "sqlite:", as PHP-FPM sees it`
	case isSqlite:
		return ""
	case isMySQL && strings.Contains(strings.ToLower(rest), "password="):
		return "no password in it: that is for password_file"
	case isMySQL && !strings.Contains(rest, "dbname="):
		return `the database, too, as in "mysql:host=127.0.0.1;dbname=shop"`
	case isMySQL:
		return ""
	}
	return `"sqlite:/path/to.sqlite" or "mysql:host=…;dbname=…", as PHP's PDO takes it`
}
