package config

import (
	"slices"
	"strings"

	"sidecar/fastcgi"
	"sidecar/internal/alert"
	"sidecar/internal/spool"
	"sidecar/internal/trace"
	"sidecar/queue"
)

// The tables of the file, as faults name them.
const (
	homeTop   = "the top of the file"
	homeRedis = "[redis]"
	homeTLS   = "[redis.tls]"
	homeAdmin = "[admin]"
	homePool  = "[fpm.<name>]"
	homeTopic = "[topic.<name>]"
	homeList  = "[list.<name>]"
	homeRoute = "[list.<name>.route.<type>]"
	homeBoth  = "[defaults]"
	homeSpool = "[spool.<name>]"
	homeTrace = "[trace]"

	homeAlert  = "[alert]"
	homeTarget = "[alert.target.<name>]"
	homeRule   = "[alert.rule.<name>]"
)

func topFields(c *Config) []field {
	return []field{
		{"grace", duration(&c.Grace)},
		{"pid_file", text(&c.PIDFile)},
		{"timezone", zone(&c.Timezone)},
		{"log", oneOf(&c.Log.Format, "text", "json")},
		{"log_level", level(&c.Log.Level)},
		{"admin", nil},
		{"redis", nil},
		{"fpm", nil},
		{"defaults", nil},
		{"topic", nil},
		{"list", nil},
		{"spool", nil},
		{"trace", nil},
		{"alert", nil},
	}
}

func adminFields(a *Admin, tokenFile *string) []field {
	return []field{
		{"listen", text(&a.Listen)},
		{"socket_mode", fileMode(&a.SocketMode)},
		{"token_file", text(tokenFile)},
		{"hosts", texts(&a.Hosts)},
		{"write", flag(&a.Write)},
		{"show_payload", flag(&a.ShowPayload)},
		{"mask", texts(&a.Mask)},
		{"undo_dir", text(&a.UndoDir)},
	}
}

// secretFiles are the files of [redis] that hold passwords.
type secretFiles struct{ server, sentinel string }

func redisFields(o *queue.RedisOptions, files *secretFiles) []field {
	return []field{
		{"url", text(&o.URL)},
		{"addrs", texts(&o.Addrs)},
		{"sentinel", text(&o.Sentinel)},
		{"cluster", flag(&o.Cluster)},
		{"username", text(&o.Username)},
		{"password_file", text(&files.server)},
		{"sentinel_username", text(&o.SentinelUsername)},
		{"sentinel_password_file", text(&files.sentinel)},
		{"db", integer(&o.DB)},
		{"key_prefix", text(&o.KeyPrefix)},
		{"protocol", integer(&o.Protocol)},
		{"tls", nil},
	}
}

func tlsFields(o *queue.TLSOptions) []field {
	return []field{
		{"enabled", flag(&o.Enabled)},
		{"ca_file", text(&o.CAFile)},
		{"cert_file", text(&o.CertFile)},
		{"key_file", text(&o.KeyFile)},
		{"server_name", text(&o.ServerName)},
		{"skip_verify", flag(&o.Insecure)},
	}
}

func poolFields(o *fastcgi.PoolOptions) []field {
	return []field{
		{"listen", text(&o.Listen)},
		{"children", integer(&o.Children)},
		{"status", text(&o.Status)},
		{"bridge_path", text(&o.BridgePath)},
		{"bridge_dir", text(&o.BridgeDir)},
		{"chroot", text(&o.Chroot)},
		{"worker_socket", text(&o.WorkerSocket)},
	}
}

// home is a table of the file and the keys it knows.
type home struct {
	name string
	keys []string
}

// schema lists the tables of the file with every key they know.
func schema() []home {
	var c Config
	var token string
	var files secretFiles
	list := DefaultList()
	return []home{
		{homeTop, namesOf(topFields(&c))},
		{homeAdmin, namesOf(adminFields(&c.Admin, &token))},
		{homeRedis, namesOf(redisFields(&c.Redis, &files))},
		{homeTLS, namesOf(tlsFields(&c.Redis.TLS))},
		{homePool, namesOf(poolFields(&fastcgi.PoolOptions{}))},
		{homeTopic, namesOf(topicFields(&Topic{}))},
		{homeList, namesOf(listFields(&list))},
		{homeRoute, namesOf(routeFields(&fastcgi.Target{}))},
		{homeBoth, namesOf(defaultsFields(&list))},
		{homeSpool, namesOf(spoolFields(&spool.Options{}, &token))},
		{homeTrace, namesOf(traceFields(&trace.Options{}, &token))},
		{homeAlert, namesOf(alertFields(&c.Alert))},
		{homeTarget, namesOf(targetFields(&alert.Target{}, &targetFiles{}))},
		{homeRule, namesOf(ruleFields(&alert.Rule{}))},
	}
}

func namesOf(fields []field) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

// homesOf returns the tables that know the key name, "" if none does.
func homesOf(name string) string {
	var names []string
	for _, h := range schema() {
		if slices.Contains(h.keys, name) {
			names = append(names, h.name)
		}
	}
	if last := len(names) - 1; last > 1 {
		names = []string{strings.Join(names[:last], ", "), names[last]}
	}
	return strings.Join(names, " or ")
}
