package config

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"sidecar/queue"
)

// The environment's ways to hand in the passwords. They go before the files, and password_file before a password in
// the url.
const (
	passwordVariable         = "SIDECAR_REDIS_PASSWORD"
	sentinelPasswordVariable = "SIDECAR_SENTINEL_PASSWORD"
)

// maxSmall bounds what is read of a file with a password or a certificate.
const maxSmall = 64 << 10

func (b *builder) buildRedis(t *table) {
	o := &b.cfg.Redis
	var files secretFiles
	t.decode(redisFields(o, &files))
	if len(o.Addrs) > 0 && !t.has("url") {
		o.URL = "" // the default makes room
	}
	b.buildTLS(t)
	b.readPassword(t, files.server)
	b.readSentinelPassword(t, files.sentinel)
	err := o.Validate()
	t.faults(err)
	if err == nil {
		*o = o.Resolved()
	}
}

// buildTLS reads tls, which is true, false, or the table [redis.tls]: that turns it on by being there.
func (b *builder) buildTLS(t *table) {
	p, ok := t.keys["tls"]
	if !ok {
		return
	}
	o := &b.cfg.Redis.TLS
	if flag(&o.Enabled)(b.value(p)) == nil {
		return
	}
	tls := b.table("redis.tls", "true, false, or a table [redis.tls]", p)
	o.Enabled = tls.keys != nil
	tls.decode(tlsFields(o))
	for name, path := range map[string]string{"ca_file": o.CAFile, "cert_file": o.CertFile, "key_file": o.KeyFile} {
		if path == "" {
			continue
		}
		if _, err := readSmall(path); err != nil {
			tls.faults(fmt.Errorf("%s = %q: want a file that can be read: %w", name, path, err))
		}
	}
	if o.Enabled && o.Insecure {
		b.warn(tls.line("skip_verify"), "%sskip_verify = true: any server is taken for Redis, and gets the password", tls.label)
	}
}

// readPassword finds the password outside the url, and says so where another one is passed over.
func (b *builder) readPassword(t *table, file string) {
	o := &b.cfg.Redis
	u, err := url.Parse(o.URL)
	inURL := false
	if err == nil {
		_, inURL = u.User.Password()
	}
	if inURL {
		b.exposed(t, "url", b.path)
	}
	if file != "" {
		o.Password = b.passwordFrom(t, "password_file", file)
		if inURL {
			b.warn(t.line("url"), "%surl: the password in it is passed over, password_file is set", t.label)
		}
	}
	if password, ok := b.env(passwordVariable); ok && password != "" {
		o.Password = queue.Secret(password)
		for _, name := range []string{"password_file", "url"} {
			if name == "password_file" && file != "" || name == "url" && inURL && file == "" {
				b.warn(t.line(name), "%s%s: its password is passed over, %s is set", t.label, name, passwordVariable)
			}
		}
	}
}

// readSentinelPassword finds the password of the Sentinels. It stands in no url.
func (b *builder) readSentinelPassword(t *table, file string) {
	o := &b.cfg.Redis
	if file != "" {
		if o.Sentinel == "" {
			t.faults(errors.New("sentinel_password_file: want sentinel = \"<master>\" with it"))
			return
		}
		o.SentinelPassword = b.passwordFrom(t, "sentinel_password_file", file)
		if o.SentinelPassword == "" {
			t.bad["sentinel_username"] = true // whose password it was to be
		}
	}
	if password, ok := b.env(sentinelPasswordVariable); ok && password != "" && o.Sentinel != "" {
		o.SentinelPassword = queue.Secret(password)
		if file != "" {
			b.warn(t.line("sentinel_password_file"), "%ssentinel_password_file: its password is passed over, %s is set", t.label, sentinelPasswordVariable)
		}
	}
}

// passwordFrom reads the password in file, which the option called name gives.
func (b *builder) passwordFrom(t *table, name, file string) queue.Secret {
	if !filepath.IsAbs(file) {
		t.faults(fmt.Errorf("%s: want an absolute path (what stands there is not shown, it may be the password)", name))
		return ""
	}
	data, err := readSmall(file)
	if err != nil {
		t.faults(fmt.Errorf("%s = %q: want a file that can be read: %w", name, file, err))
		return ""
	}
	password := strings.TrimRight(string(data), "\r\n") // editors and echo end the file with one
	if password == "" {
		t.faults(fmt.Errorf("%s = %q: want a password in it, it is empty", name, file))
	}
	b.exposed(t, name, file)
	return queue.Secret(password)
}

// exposed warns if everybody may read the file at path, which holds a password.
func (b *builder) exposed(t *table, name, path string) {
	if fi, err := os.Stat(path); err == nil && fi.Mode().Perm()&0o004 != 0 {
		b.warn(t.line(name), "%s%s: every user of this machine can read the password in %s (mode %#o); want 0640 or less", t.label, name, path, fi.Mode().Perm())
	}
}

// readSmall reads a regular file of bounded size: a pipe or a device could keep us for ever.
func readSmall(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, reason(err)
	}
	if !fi.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err == nil && len(data) > maxSmall {
		err = errors.New("it is larger than 64 KB")
	}
	return data, err
}

// reason returns why a file could not be opened, without the path, which the fault names anyway.
func reason(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}
