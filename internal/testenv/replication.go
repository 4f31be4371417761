package testenv

import (
	"context"
	"strconv"
	"strings"
	"testing"
)

// Do runs a command on s that must not fail.
func Do(t testing.TB, s *RedisServer, args ...any) any {
	t.Helper()
	v, err := s.Client().Do(context.Background(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return v
}

// conf returns one setting of the running server.
func (s *RedisServer) conf(name string) string {
	s.t.Helper()
	values, err := s.Client().ConfigGet(context.Background(), name).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	return values[name]
}

// replication returns one line of INFO replication.
func (s *RedisServer) replication(name string) string {
	text := s.Client().Info(context.Background(), "replication").Val()
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}

// IsMaster reports that the server answers and takes writes.
func (s *RedisServer) IsMaster() bool { return s.replication("role") == "master" }

// AwaitReplication waits until the replica s has all data of its master and follows it.
func (s *RedisServer) AwaitReplication() {
	s.t.Helper()
	Poll(s.t, formTimeout, "the replica to follow its master", func() bool { return s.replication("master_link_status") == "up" })
}

// AwaitCopy waits until the replica s has all that its master has by now. (WAIT knows of one connection's writes only.)
func (s *RedisServer) AwaitCopy(master *RedisServer) {
	s.t.Helper()
	want, err := strconv.ParseInt(master.replication("master_repl_offset"), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	Poll(s.t, formTimeout, "the replica to have everything", func() bool {
		have, err := strconv.ParseInt(s.replication("slave_repl_offset"), 10, 64)
		return err == nil && have >= want
	})
}

// AwaitLinkDown waits until the replica s has read all that its master sent before that ended.
func (s *RedisServer) AwaitLinkDown() {
	s.t.Helper()
	Poll(s.t, formTimeout, "the replica to lose its master", func() bool { return s.replication("master_link_status") == "down" })
}

// Detach keeps the replica s from following its master, which notices nothing: what the master takes from now on, it
// alone has.
func (s *RedisServer) Detach() {
	s.t.Helper()
	Do(s.t, s, "CONFIG", "SET", "masterauth", "a password that the master does not have")
	Do(s.t, s, "CLIENT", "KILL", "TYPE", "master")
	s.AwaitLinkDown()
}

// HasTracking reports that a connection to s is told of changes.
func (s *RedisServer) HasTracking() bool {
	text := s.Client().Info(context.Background(), "clients").Val()
	return strings.Contains(text, "tracking_clients:") && !strings.Contains(text, "tracking_clients:0")
}
