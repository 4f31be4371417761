package queue_test

import (
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// open opens a client for the topics, with protocol 3 unless opts say otherwise.
func open(t testing.TB, opts queue.RedisOptions, topics ...string) redis.UniversalClient {
	t.Helper()
	if opts.Protocol == 0 {
		opts.Protocol = 3
	}
	rdb, err := queue.Open(opts, topicsOf(topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func wantPing(t testing.TB, rdb redis.UniversalClient) {
	t.Helper()
	if err := rdb.Ping(t.Context()).Err(); err != nil {
		t.Errorf("ping: %v", err)
	}
}

func TestOpenByURLSocketAndAddress(t *testing.T) {
	server := testenv.Redis(t)
	for name, opts := range map[string]queue.RedisOptions{
		"url":       {URL: server.URL()},
		"socket":    {URL: "unix://" + server.Socket},
		"address":   {Addrs: []string{server.Addr}},
		"protocol":  {URL: server.URL(), Protocol: 2},
		"database":  {URL: "redis://" + server.Addr + "/3"},
		"db option": {URL: server.URL(), DB: 0},
	} {
		rdb := open(t, opts)
		wantPing(t, rdb)
		if name == "database" {
			if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if n := server.Client().DBSize(t.Context()).Val(); n != 0 {
				t.Errorf("database 0 holds %d keys, want the key in 3", n)
			}
		}
	}
}

// C111: characters that break URLs, by every way a password comes in.
func TestOpenWithAnOddPassword(t *testing.T) {
	const password = `p@ss:w/rd#%20"`
	server := testenv.Redis(t)
	rdb := server.Client()
	if err := rdb.ConfigSet(t.Context(), "requirepass", password).Err(); err != nil {
		t.Fatal(err)
	}
	byURL := url.URL{Scheme: "redis", Host: server.Addr, User: url.UserPassword("", password)}
	for name, opts := range map[string]queue.RedisOptions{
		"url":      {URL: byURL.String()},
		"field":    {URL: server.URL(), Password: password},
		"resp2":    {URL: server.URL(), Password: password, Protocol: 2},
		"username": {URL: server.URL(), Username: "default", Password: password},
	} {
		c := open(t, opts)
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := queue.CheckServer(t.Context(), c, "", topicsOf("mail")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := open(t, queue.RedisOptions{URL: server.URL(), Password: "wrong" + password})
	_, err := queue.CheckServer(t.Context(), c, "", nil)
	if queue.FaultOf(err) != queue.NoAuth || strings.Contains(err.Error(), password) || !strings.Contains(err.Error(), "password_file") {
		t.Errorf("wrong password: %v, want a hint and not the password", err)
	}
}

// C111: a server before Redis 6 knows no users.
func TestOpenWithAUserOnAnOldServer(t *testing.T) {
	old := newFake(t, func(command []string) string {
		switch {
		case command[0] == "auth" && len(command) == 3:
			return "-ERR wrong number of arguments for 'auth' command\r\n"
		case command[0] == "hello":
			return "-ERR unknown command 'HELLO'\r\n"
		}
		return "+OK\r\n"
	})
	c := open(t, queue.RedisOptions{URL: "redis://" + old.addr, Username: "app", Password: "s3cret"})
	_, err := queue.CheckServer(t.Context(), c, "", nil)
	if err == nil || !strings.Contains(err.Error(), "leave username empty") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v, want the hint to leave username empty", err)
	}
}

// C114, C115: what proxies and other servers make of HELLO.
func TestOpenSurvivesAnyAnswerToHello(t *testing.T) {
	server := testenv.Redis(t)
	if err := server.Client().ConfigSet(t.Context(), "requirepass", "pw").Err(); err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{
		"hangs up":       hangUp,
		"hangs":          hang,
		"noauth":         "-NOAUTH Authentication required.\r\n",
		"unsupported":    "-ERR unsupported command\r\n",
		"protocol error": "-ERR Protocol error\r\n",
		"ok":             "+OK\r\n",
		"forwards":       forward,
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := newProxy(t, server.Addr, func(command []string) string {
				switch command[0] {
				case "hello":
					return answer
				case "client":
					return hangUp
				}
				return forward
			})
			c := open(t, queue.RedisOptions{URL: "redis://" + proxy.addr + "/1", Password: "pw"})
			begin := time.Now()
			wantPing(t, c)
			if took := time.Since(begin); took > patience/2 {
				t.Errorf("took %s", took)
			}
			if n := proxy.count("client"); n != 0 {
				t.Errorf("%d CLIENT commands, want none: old servers and proxies refuse them", n)
			}
			// What was learned holds for the connections that follow.
			hellos := proxy.count("hello")
			for range 3 {
				conn := c.(*redis.Client).Conn() //nolint:forcetypeassert // a single server's client is one
				if err := conn.Ping(t.Context()).Err(); err != nil {
					t.Error(err)
				}
				defer func() { _ = conn.Close() }()
			}
			if n := proxy.count("hello"); answer != forward && n != hellos {
				t.Errorf("HELLO was sent %d times more", n-hellos)
			}
		})
	}
}

func TestProtocol2SendsNoHello(t *testing.T) {
	server := testenv.Redis(t)
	proxy := newProxy(t, server.Addr, func(command []string) string {
		if command[0] == "hello" || command[0] == "client" {
			return hangUp
		}
		return forward
	})
	wantPing(t, open(t, queue.RedisOptions{URL: "redis://" + proxy.addr, Protocol: 2}))
	if n := proxy.count("hello"); n != 0 {
		t.Errorf("%d HELLO, want none", n)
	}
}

func TestErrorOfTheSecondConnectionNamesTheOption(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { // one connection, closed at HELLO, and no other
		conn, err := l.Accept()
		if err == nil {
			_, _ = conn.Read(make([]byte, 1))
			_ = l.Close()
			_ = conn.Close()
		}
	}()
	c := open(t, queue.RedisOptions{URL: "redis://" + l.Addr().String()})
	err = c.Ping(t.Context()).Err()
	if err == nil || !strings.Contains(err.Error(), "protocol = 2") {
		t.Errorf("got %v, want it to name protocol = 2", err)
	}
}

// C120: the server closes idle connections; the next command must not notice.
func TestIdleConnectionsClosedByTheServerCostNothing(t *testing.T) {
	server := testenv.Redis(t)
	admin := server.Client()
	for _, protocol := range []int{2, 3} {
		c := open(t, queue.RedisOptions{URL: server.URL(), Protocol: protocol})
		wantPing(t, c)
		if err := admin.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
			t.Fatal(err)
		}
		wantPing(t, c)
	}
}

func TestOpenBySentinelFindsTheMaster(t *testing.T) {
	master := testenv.Redis(t)
	sentinel := testenv.Sentinel(t, master, "jobs")
	c := open(t, queue.RedisOptions{Addrs: []string{testenv.FreeAddr(t), sentinel.Addr}, Sentinel: "jobs", DB: 2}, "mail")
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if keys := master.Client().Info(t.Context(), "keyspace").Val(); !strings.Contains(keys, "db2:keys=1") {
		t.Errorf("the master holds %q, want the key in database 2", keys)
	}
	w := startWaker(t, c, "", "mail")
	active(t, w, "mail")

	unknown := open(t, queue.RedisOptions{Addrs: []string{sentinel.Addr}, Sentinel: "other"}, "mail")
	if err := unknown.Ping(t.Context()).Err(); queue.FaultOf(err) != queue.ClusterDown {
		t.Errorf("a master nobody knows: %v, want clusterdown", err)
	}
}

// Sentinels have users of their own, and the servers' login is no login there.
func TestOpenLogsInAtSentinelsAndServersApart(t *testing.T) {
	master := testenv.Redis(t)
	sentinel := testenv.Sentinel(t, master, "jobs")
	testenv.Do(t, master, "ACL", "SETUSER", "app", "on", ">of the server", "~*", "+@all")
	testenv.Do(t, sentinel, "ACL", "SETUSER", "watcher", "on", ">of the sentinel", "allchannels", "+@all")
	testenv.Do(t, sentinel, "ACL", "SETUSER", "default", "off")
	opts := queue.RedisOptions{
		Addrs: []string{sentinel.Addr}, Sentinel: "jobs",
		Username: "app", Password: "of the server", SentinelUsername: "watcher", SentinelPassword: "of the sentinel",
	}
	for _, protocol := range []int{2, 3} {
		opts.Protocol = protocol
		c := open(t, opts, "mail")
		if who := c.Do(t.Context(), "ACL", "WHOAMI").Val(); who != "app" {
			t.Errorf("protocol %d: the server knows us as %v", protocol, who)
		}
	}
	opts.SentinelPassword = "wrong-secret"
	_, err := queue.CheckServer(t.Context(), open(t, opts, "mail"), "", nil)
	if queue.FaultOf(err) != queue.NoAuth || !strings.Contains(err.Error(), "sentinel_password_file") || strings.Contains(err.Error(), "wrong-secret") {
		t.Errorf("got %v (%s), want a hint at the Sentinels' login", err, queue.FaultOf(err))
	}
}
