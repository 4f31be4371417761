package queue_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// The tests here are cases from the field that need the whole flow; docs/field-cases.md lists all of them.

// C01 to C23 where a consumer that decodes and encodes would change something: the handler is given the same bytes
// at every run, but for the two fields that a failure changes.
func TestAFailureChangesNothingElseOnItsWayThroughRedis(t *testing.T) {
	const counts = `"retry":0,"last_error":""`
	payloads := map[string]string{
		"C01": `{"ids":[],"opts":{}}`,
		"C03": `{"order_id":130775545883395173,"max":9223372036854775807,"neg":-9223372036854775808}`,
		"C05": `{"p":277.199999999999989,"q":0.1,"r":10.0,"s":0.0,"t":0.460000000000000019984014443252817727625370025634765625}`,
		"C07": `{"html":"<a href=\"/x?a=1&b=2\">t</a>","sig":"abc"}`,
		"C09": `{"t":"\ud83d\ude00 ok","raw":"😀"}`,
		"C13": `{"0":"zero","1":"one","o":{"01":1,"1":2}}`,
		"C14": `{"items":{"0":"a","2":"c"},"big":{"9223372036854775808":1,"-0":2,"":3}}`,
		"C15": `[]`,
		"C17": "{\"name\":\"caf\xE9\"}",
		"C21": `{"\u0000x":1,"v":"a\u0000b"}`,
		"C23": strings.Repeat("[", 600) + strings.Repeat("]", 600),
	}
	quick := func(o *queue.Options) { o.Retry = []time.Duration{time.Millisecond, time.Millisecond} }
	b := newBench(t, quick)
	r := newRuns()
	startFlow(t, b, quick, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		if job.Tries() < 2 {
			return failed
		}
		return done
	})
	var want []string
	for id, payload := range payloads {
		text := fmt.Sprintf(`{"uuid":%q,"topic":"mail","payload":%s,%s}`, id, payload, counts)
		b.ready(t, text)
		want = append(want, text)
		for tries := 1; tries <= 2; tries++ {
			want = append(want, strings.Replace(text, counts, fmt.Sprintf(`"retry":%d,"last_error":"no"`, tries), 1))
		}
	}
	eventually(t, "three runs each", func() bool { return r.count() >= len(want) && b.empty(t) })
	got := r.list()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("ran %q\nwant %q", got, want)
	}
	wantKeys(t, b, Keys{})
}

// C25, C26, C28, C30, C32: what is no job goes to dead once, with its bytes; what only ends in white space is one.
func TestMembersInEveryEncodingAreRunOrBuriedOnce(t *testing.T) {
	const job = `{"uuid":"a","topic":"mail","payload":{},"retry":0,"last_error":""}`
	bad := []string{
		"\uFEFF" + job,
		job + "\b",
		job + "\x00",
		fmt.Sprintf(`s:%d:"%s";`, len(job), job),
		"\x00\x00\x00\x02\x11\x0d" + job,
		strconv.Quote(job),
		"\x1f{\"uuid\":\"x\",\"payload\":\"aaaaaaaaaaa\xe0\xff\x00\x01a\"}", // as LZF leaves its first bytes
	}
	good := []string{job + "\n", job + "  \t"}
	b := newBench(t, nil)
	r := newRuns()
	startFlow(t, b, nil, r.handler(done))
	b.ready(t, append(slices.Clone(bad), good...)...)
	eventually(t, "all to be settled", func() bool { return b.empty(t) && b.size(t, b.keys.Dead) == len(bad) && r.count() == len(good) })
	var buried []string
	for _, record := range b.rdb.LRange(t.Context(), b.keys.Dead, 0, -1).Val() {
		dead, err := compat.ParseDeadRecord(record)
		if err != nil || dead.Error == "" {
			t.Fatalf("record %q: %v, want a reason", record, err)
		}
		buried = append(buried, dead.Job)
	}
	slices.Sort(buried)
	slices.Sort(bad)
	if !slices.Equal(buried, bad) {
		t.Errorf("dead holds %q\nwant %q", buried, bad)
	}
	ran := r.list()
	slices.Sort(ran)
	slices.Sort(good)
	if !slices.Equal(ran, good) {
		t.Errorf("ran %q, want %q", ran, good)
	}
}

// C37: another application's job in our key. The key counts, and the operator is told.
func TestAJobThatNamesAnotherTopicRunsAndIsReportedOnce(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	f := startFlow(t, b, nil, r.handler(done))
	b.ready(t, `{"uuid":"a","topic":"mail"}`, `{"uuid":"b"}`, `{"uuid":"c","topic":7}`)
	eventually(t, "the runs", func() bool { return r.count() == 3 && b.empty(t) })
	if got := f.log.count("names another topic"); got != 0 {
		t.Errorf("%d warnings, want none so far", got)
	}
	b.ready(t, `{"uuid":"d","topic":"sms"}`, `{"uuid":"e","topic":"sms"}`)
	eventually(t, "the runs", func() bool { return r.count() == 5 && b.empty(t) })
	f.wantLogged(t, 1, "names another topic", "topic=mail", "uuid=d")
	f.wantLogged(t, 1, "names another topic")
}

// C46, C48: in here the host's clock says 1 January 2000, and no due time, lease or delay shows it.
func TestTheHostsClockMovesNoDueTimeAndNoLease(t *testing.T) {
	server := newBench(t, nil).server
	synctest.Test(t, func(t *testing.T) {
		if year := time.Now().Year(); year != 2000 {
			t.Fatalf("the host's clock says %d", year)
		}
		rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket, MaxRetries: -1, DisableIdentity: true})
		defer func() { _ = rdb.Close() }()
		opts := queue.DefaultOptions()
		opts.Topic = "mail"
		b := bench{Store: queue.NewStore(rdb, "", opts), rdb: rdb, server: server, keys: compat.NewDelayKeys("", "mail")}
		if err := b.Push(t.Context(), "pushed", 10*time.Second); err != nil {
			t.Fatal(err)
		}
		b.do(t, "ZADD", b.keys.Pool, b.nowMS(t)-1, "due")
		if p, err := b.Promote(t.Context()); err != nil || p.Promoted != 1 {
			t.Fatalf("promoted %+v, %v, want what is due by Redis's clock", p, err)
		}
		claims, err := b.Claim(t.Context(), 1)
		if err != nil || len(claims.List) != 1 {
			t.Fatalf("claimed %+v, %v", claims, err)
		}
		wantKeys(t, b, Keys{Pool: map[string]string{"pushed": "10s"}, Running: map[string]string{"due": "30s"}})
		if list, _, err := b.Expired(t.Context(), 10); err != nil || len(list) != 0 {
			t.Fatalf("expired %v, %v, want none", list, err)
		}
		if r := settleOne(t, b, "requeue", "due", claims.List[0].Lease, "", false); r.Settlement != queue.Settled {
			t.Fatalf("requeue: %s", r.Settlement)
		}
		wantKeys(t, b, Keys{Pool: map[string]string{"pushed": "10s", "due'": "5s"}})
	})
}

// C46: producers on this host are off by as much as its clock.
func TestCheckTellsOfAHostWhoseClockIsWrong(t *testing.T) {
	for off, want := range map[time.Duration]string{
		-2 * time.Minute: "2m0s ahead of redis's", 2 * time.Minute: "2m0s behind redis's", time.Second / 2: "",
	} {
		server := newFake(t, func(command []string) string {
			switch command[0] {
			case "eval", "exists":
				return ":1\r\n"
			case "info":
				return bulk("redis_version:7.0.0\r\nrole:master\r\nmaxmemory_policy:noeviction\r\n")
			case "time":
				us := time.Now().Add(off).UnixMicro() //nolint:forbidigo // what a server's TIME says
				return "*2\r\n" + bulk(strconv.FormatInt(us/1e6, 10)) + bulk(strconv.FormatInt(us%1e6, 10))
			}
			return "-ERR unknown command\r\n"
		})
		warnings, err := queue.CheckServer(t.Context(), open(t, queue.RedisOptions{URL: "redis://" + server.addr}), "", topicsOf("mail"))
		if err != nil {
			t.Error(err)
		}
		if want == "" {
			if len(warnings) != 0 {
				t.Errorf("%s off: %q, want nothing", off, warnings)
			}
			continue
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0], want) {
			t.Errorf("%s off: %q, want one that says %s", off, warnings, want)
		}
	}
}

// C108: a server without room has not looked at HELLO, so that nothing is to be learned from its answer.
func TestAServerWithoutRoomIsNamedAndAskedAgain(t *testing.T) {
	real := newBench(t, nil)
	var full atomic.Bool
	full.Store(true)
	proxy := newProxy(t, real.server.Addr, func([]string) string {
		if full.Load() {
			return "-ERR max number of clients reached\r\n"
		}
		return forward
	})
	rdb := open(t, queue.RedisOptions{URL: "redis://" + proxy.addr})
	for range 2 {
		err := rdb.Ping(t.Context()).Err()
		if err == nil || !strings.Contains(err.Error(), "refuses the connection: -ERR max number of clients") {
			t.Errorf("got %v, want it to say that there is no room", err)
		}
		if fault := queue.FaultOf(err); fault != queue.Refused {
			t.Errorf("%v is taken for %s, want refused", err, fault)
		}
	}
	full.Store(false)
	hellos := proxy.count("hello")
	wantPing(t, rdb)
	if n := proxy.count("hello") - hellos; n != 1 {
		t.Errorf("%d HELLO once there is room, want it to be asked again", n)
	}
}

// C108: a real server that is full speaks before it is asked, and closes at once. What it says is the reply to no command,
// and it knows HELLO all the same.
func TestAFullServersWordsAreTakenForNoReply(t *testing.T) {
	const most = 8
	server := testenv.Redis(t, fmt.Sprint("maxclients ", most))
	admin := server.Client().Conn()
	defer func() { _ = admin.Close() }()
	if err := admin.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for range most - 3 { // leaves two
		conn, err := net.Dial("tcp", server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	rdb := open(t, queue.RedisOptions{URL: server.URL()})
	var refused atomic.Int64
	var wg sync.WaitGroup
	for range 4 * most {
		wg.Go(func() {
			for range 100 {
				err := rdb.Ping(t.Context()).Err()
				if err == nil {
					continue
				}
				refused.Add(1)
				if fault := queue.FaultOf(err); fault != queue.Refused && fault != queue.Network {
					t.Errorf("%v is taken for %s, want refused", err, fault)
					return
				}
			}
		})
	}
	wg.Wait()
	if refused.Load() == 0 {
		t.Error("the server was never full")
	}
	fresh := rdb.(*redis.Client).Conn() //nolint:forcetypeassert // a single server's client is one
	defer func() { _ = fresh.Close() }()
	eventually(t, "a connection", func() bool { return fresh.Ping(t.Context()).Err() == nil })
	if list := admin.ClientList(t.Context()).Val(); strings.Count(list, "resp=3") < 2 {
		t.Errorf("want all of RESP3 yet:\n%s", list)
	}
}
