package queue_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// listOptions are those of the list "mail" with two shards and acks.
func listOptions() queue.Options {
	opts := queue.DefaultOptions()
	list := queue.DefaultListOptions()
	list.Key, list.Dead, list.Shards, list.Default = smsKey, smsDead, 2, true
	opts.Topic, opts.List, opts.Retry, opts.Workers = "mail", &list, queue.DefaultListRetry(), 1
	opts.Idempotency = queue.IdempotencyOn
	return opts
}

// useEveryMoveOfAList calls every method that a list's Store has.
func useEveryMoveOfAList(t *testing.T, s *queue.Store) {
	t.Helper()
	ctx := t.Context()
	note := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	note("check", s.Check(ctx))
	for _, id := range []string{"a", "b", "c", "d"} {
		note("push", s.Push(ctx, listJob(id), 0))
	}
	note("push later", s.Push(ctx, listJob("e"), time.Hour))
	_, err := s.Promote(ctx)
	note("promote", err)
	claims, err := s.Claim(ctx, 4)
	if err != nil || len(claims.List) != 4 {
		t.Fatalf("claim: %d, %v", len(claims.List), err)
	}
	of := func(i int) (string, queue.Lease) { return claims.List[i].Text, claims.List[i].Lease }
	text, lease := of(0)
	_, err = s.TakeAcks(ctx, []queue.Ack{{UUID: "x", Text: text}, {UUID: "x", Text: "another"}})
	note("take acks", err)
	_, err = s.Renew(ctx, []queue.Renewal{{Text: text, Held: lease, Next: lease, UUID: "x"}})
	note("renew", err)
	_, err = s.Complete(ctx, []queue.Completion{{Text: text, Held: lease, UUID: "x", Sole: true}})
	note("complete", err)
	text, lease = of(1)
	_, err = s.Requeue(ctx, []queue.Requeueing{{Text: text, Held: lease, NewText: "x", Delay: time.Hour, UUID: "y"}})
	note("requeue", err)
	text, lease = of(2)
	_, err = s.Requeue(ctx, []queue.Requeueing{{Text: text, Held: lease, NewText: bare(text), ToReady: true, UUID: "y"}})
	note("give back", err)
	text, lease = of(3)
	_, err = s.Bury(ctx, []queue.Burial{{Text: text, Held: lease, Record: reasonOf("d", "no"), UUID: "z"}})
	note("bury", err)
	_, err = s.Dead(ctx, 5)
	note("dead", err)
	_, err = s.Replay(ctx, 5, false, time.UTC)
	note("replay", err)
	_, _, err = s.Expired(ctx, 5)
	note("expired", err)
	_, _, err = s.HandBack(ctx)
	note("hand back", err)
	_, err = s.Depths(ctx)
	note("depths", err)
}

// C109
func TestTheListsUserOfThePageRunsEverythingOfAList(t *testing.T) {
	b := newListBench(t, 2, acked)
	user := asUser(t, b.bench, aclRules(t)[2]...)
	useEveryMoveOfAList(t, queue.NewStore(user.rdb, "", listOptions()))
	for _, line := range log(t, b.bench) {
		t.Errorf("it was refused %s", line)
	}
}

// C109: each right of the lists' user is needed, and what is missing is named before a job is claimed.
func TestEachRightTakenFromTheListsUserIsNamed(t *testing.T) {
	rules := aclRules(t)[2]
	b := newListBench(t, 2, acked)
	for _, right := range rules {
		word, _ := right.(string)
		user := asUser(t, b.bench, slices.DeleteFunc(slices.Clone(rules), func(r any) bool { return r == right })...)
		said := ""
		if _, err := queue.CheckServer(t.Context(), user.rdb, "", nil); err != nil {
			said = err.Error()
		}
		if err := queue.NewStore(user.rdb, "", listOptions()).Check(t.Context()); err != nil {
			said += err.Error()
		}
		if name := strings.TrimRight(strings.TrimLeft(word, "+~"), "*"); !strings.Contains(strings.ToLower(said), name) {
			t.Errorf("without %s it is said: %q", word, said)
		}
	}
	b.do(t, "DEL", b.lists.Ack("sidecar-check")) // of a user who may write and not delete
	if n := b.do(t, "DBSIZE"); n != int64(0) {
		t.Errorf("%v keys were left behind", n)
	}
}

func TestACheckOfAListLeavesNothingBehind(t *testing.T) {
	b := newListBench(t, 2, acked)
	b.push(t, 1, "a")
	for range 2 {
		if err := b.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wantListKeys(t, b, List{Lists: map[int][]string{1: {"a"}}})
}

func TestAListsKeysUnderAnotherPrefixAreTold(t *testing.T) {
	b := newListBench(t, 2, nil)
	opts := []queue.Options{listOptions()}
	b.do(t, "LPUSH", "app:"+smsKey+"_1", "x")
	b.do(t, "LPUSH", smsKey+"_10", "x") // another list
	warnings, err := queue.CheckServer(t.Context(), b.rdb, "", opts)
	if err != nil {
		t.Error(err)
	}
	wantWarning(t, warnings, "mail", "app:"+smsKey+"_1", "key_prefix")
	if warnings, err = queue.CheckServer(t.Context(), b.rdb, "app:", opts); err != nil || len(warnings) != 0 {
		t.Errorf("with the prefix: %q, %v", warnings, err)
	}
}

func TestAListWithoutAHashTagIsRefusedInACluster(t *testing.T) {
	cluster := queue.RedisOptions{Addrs: []string{"127.0.0.1:1"}, Cluster: true, Protocol: 3}
	opts := listOptions()
	if _, err := queue.Open(cluster, []queue.Options{opts}); err == nil || !strings.Contains(err.Error(), `"mail"`) || !strings.Contains(err.Error(), smsKey) {
		t.Errorf("got %v, want the list refused", err)
	}
	tagged := *opts.List
	tagged.Key, tagged.Dead = "queue:{test}:sms", "queue:{test}:dead"
	opts.List = &tagged
	rdb, err := queue.Open(cluster, []queue.Options{opts})
	if err != nil {
		t.Fatalf("with a tag: %v", err)
	}
	_ = rdb.Close()
}

// Names of lists may begin like others, and Redis refuses prefixes that overlap.
func TestWakerTellsOfEveryShard(t *testing.T) {
	server := testenv.Redis(t)
	long := listOptions()
	short := listOptions()
	list := *short.List
	list.Key, list.Shards = "queue:test:sm", 0
	short.Topic, short.List = "short", &list
	rdb := open(t, queue.RedisOptions{URL: server.URL()})
	w := queue.NewWaker(rdb, "", append([]queue.Options{long, short}, topicsOf("plain")...), slog.New(slog.NewTextHandler(t.Output(), nil)))
	runWaker(t, w)
	active(t, w, "mail", "short", "plain")
	producer := server.Client()
	for _, shard := range []string{"_0", "_1"} {
		producer.LPush(t.Context(), smsKey+shard, "x")
		wantWake(t, w.Topic("mail").Ready, "the list of "+shard)
	}
	wantQuiet(t, w.Topic("short").Ready, "the other list")
	producer.LPush(t.Context(), "queue:test:sm", "x")
	wantWake(t, w.Topic("short").Ready, "the other list")
	producer.ZAdd(t.Context(), "sidecar:pool:"+smsKey, redis.Z{Score: 1, Member: "x"})
	wantWake(t, w.Topic("mail").Pool, "the list's pool")
	wantQuiet(t, w.Topic("mail").Ready, "the list")
	producer.ZAdd(t.Context(), "delay:pool:plain", redis.Z{Score: 1, Member: "x"})
	wantWake(t, w.Topic("plain").Pool, "the topic's pool")
	wantQuiet(t, w.Topic("short").Pool, "the other list's pool")
}
