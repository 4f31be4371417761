package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// What the lists of these tests are called.
const (
	smsKey  = "queue:test:sms"
	smsDead = "queue:test:dead_letter"
)

// listBench is a Store of the list "mail" and the Redis it stands on. Its topic's name is that of startFlow.
type listBench struct {
	bench
	lists compat.ListKeys
	opts  func(*queue.Options) // what makes a Consumer's options this list's
}

// newListBench starts a private Redis for a list with shards, 0 for none. change edits its options.
func newListBench(t testing.TB, shards int, change func(*queue.Options), conf ...string) listBench {
	t.Helper()
	return listBenchOn(testenv.Redis(t, conf...), shards, change)
}

func listBenchOn(server *testenv.RedisServer, shards int, change func(*queue.Options)) listBench {
	opts := func(o *queue.Options) {
		list := queue.DefaultListOptions()
		list.Key, list.Dead, list.Shards, list.Default = smsKey, smsDead, shards, true
		o.List, o.Retry = &list, queue.DefaultListRetry()
		if change != nil {
			change(o)
		}
	}
	b := listBench{bench: benchOn(server, opts), opts: opts}
	all := queue.DefaultOptions()
	opts(&all)
	b.lists = compat.NewListKeys("", all.List.Key, all.List.Dead, shards)
	b.keys = compat.DelayKeys{Pool: b.lists.Pool, Ready: b.lists.Lists[0], Running: b.lists.Running, Dead: b.lists.Dead}
	return b
}

// startListFlow runs a Consumer of b's list, with one worker unless change says otherwise, until the test ends.
func startListFlow(t testing.TB, b listBench, change func(*queue.Options), handle func(context.Context, compat.Job) compat.Outcome) *flow {
	t.Helper()
	return startFlow(t, b.bench, func(o *queue.Options) {
		b.opts(o)
		if change != nil {
			change(o)
		}
	}, handle)
}

// acked has a list's jobs have acks.
func acked(o *queue.Options) { o.Idempotency = queue.IdempotencyOn }

// lifo has a list's newest jobs run first.
func lifo(o *queue.Options) { o.List.Order = queue.LIFO }

// push puts texts into a shard, as producers do.
func (b listBench) push(t testing.TB, shard int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		b.do(t, "LPUSH", b.lists.Lists[shard], text)
	}
}

// claims claims up to n texts.
func (b listBench) claims(t testing.TB, n int) []queue.Claim {
	t.Helper()
	c, err := b.Claim(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return c.List
}

// claimOne puts a text into shard 0 and claims it.
func (b listBench) claimOne(t testing.TB, text string) queue.Claim {
	t.Helper()
	b.push(t, 0, text)
	list := b.claims(t, 1)
	if len(list) != 1 || bare(list[0].Text) != text {
		t.Fatalf("claimed %.200v, want %.200q", list, text)
	}
	return list[0]
}

// bare is the text of an entry of running.
func bare(entry string) string {
	_, text := compat.SplitClaim(entry)
	return text
}

// bares are the texts of claims.
func bares(list []queue.Claim) (texts []string) {
	for _, c := range list {
		texts = append(texts, bare(c.Text))
	}
	return texts
}

// marked is an entry as wantList writes it: the number of its shard, a colon, and its text.
func marked(entry string) string {
	id, text := compat.SplitClaim(entry)
	if shard, _, ok := strings.Cut(id, "-"); ok {
		return shard + ":" + text
	}
	return text
}

// shardsOf counts the shards that claims come from.
func shardsOf(list []queue.Claim) map[string]int {
	n := map[string]int{}
	for _, c := range list {
		shard, _, _ := strings.Cut(c.Text, "-")
		n[shard]++
	}
	return n
}

// List is the whole state of a list. Texts stand in the order they are taken in from the right; those of pool and running
// are written "<shard>:<text>", and equal ones with a "×2" behind, with how far from now their score is.
type List struct {
	Lists   map[int][]string // by shard, without the empty ones
	Pool    map[string]string
	Running map[string]string
	Dead    []string          // the newest first
	Reasons []string          // "<job_id>: <error>", the newest first
	Acks    map[string]string // by job_id; "ours" is one of a claim
}

// wantListKeys fails the test unless the list's keys hold exactly want: nothing lost, nothing doubled.
func wantListKeys(t testing.TB, b listBench, want List) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	lists := map[int][]string{}
	for i, key := range b.lists.Lists {
		if texts := b.texts(t, key); len(texts) > 0 {
			slices.Reverse(texts)
			lists[i] = texts
		}
	}
	if !maps.EqualFunc(lists, want.Lists, slices.Equal) {
		t.Errorf("the lists hold %.500s, want %.500s", fmt.Sprint(lists), fmt.Sprint(want.Lists))
	}
	compareScored(t, "pool", b.entries(t, b.lists.Pool), want.Pool)
	compareScored(t, "running", b.entries(t, b.lists.Running), want.Running)
	if got := b.texts(t, b.lists.Dead); !slices.Equal(got, want.Dead) {
		t.Errorf("dead holds %.500q, want %.500q", got, want.Dead)
	}
	if got := b.reasons(t); !slices.Equal(got, want.Reasons) {
		t.Errorf("the reasons are %.500q, want %.500q", got, want.Reasons)
	}
	acks := map[string]string{}
	for _, key := range b.rdb.Keys(ctx, b.lists.Ack("*")).Val() {
		says := b.rdb.Get(ctx, key).Val()
		if strings.HasPrefix(says, "processing ") {
			says = "ours"
		}
		acks[key[len(b.lists.Ack("")):]] = says
	}
	if !maps.Equal(acks, want.Acks) {
		t.Errorf("acks are %v, want %v", acks, want.Acks)
	}
}

// texts reads a list; one of another type is empty.
func (b listBench) texts(t testing.TB, key string) []string {
	t.Helper()
	got, err := b.rdb.LRange(context.WithoutCancel(t.Context()), key, 0, -1).Result()
	if err != nil && queue.FaultOf(err) != queue.WrongType {
		t.Fatal(err)
	}
	return got
}

// entries reads a ZSET of claims as List writes it.
func (b listBench) entries(t testing.TB, key string) map[string]string {
	t.Helper()
	now := b.nowMS(t)
	list, err := b.rdb.ZRangeWithScores(context.WithoutCancel(t.Context()), key, 0, -1).Result()
	if err != nil && queue.FaultOf(err) != queue.WrongType {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, z := range list {
		entry, _ := z.Member.(string)
		name := marked(entry)
		for n := 2; got[name] != ""; n++ {
			name = fmt.Sprintf("%s×%d", marked(entry), n)
		}
		got[name] = fmt.Sprintf("%.0f", z.Score-now)
	}
	return got
}

// reason is one entry of the reasons.
type reason struct {
	List  string `json:"list"`
	JobID string `json:"job_id"`
	Error string `json:"error"`
	Trace string `json:"trace"`
	At    string `json:"at"`
}

// reasons reads the reasons as List writes them. Each says when, and of which text of which list.
func (b listBench) reasons(t testing.TB) (list []string) {
	t.Helper()
	for _, text := range b.texts(t, b.lists.Reasons) {
		of, data, _ := strings.Cut(text, "\n")
		var r reason
		if err := json.Unmarshal([]byte(data), &r); err != nil {
			t.Errorf("reason %q: %v", text, err)
		}
		if _, err := time.Parse(time.DateTime, r.At); err != nil || !strings.HasPrefix(r.List, "queue:") || len(of) != 40 {
			t.Errorf("reason %q: want one with list, time and the text's SHA-1", text)
		}
		list = append(list, r.JobID+": "+r.Error)
	}
	return list
}

// listJob is a small job of a list.
func listJob(id string) string { return listJobAt(id, 0) }

// listJobAt is listJob after so many failures.
func listJobAt(id string, retries int) string {
	return fmt.Sprintf(`{"job_id":%q,"type":"sms","payload":{},"retry_count":%d,"max_retry":3,"created_at":1732900000}`, id, retries)
}

// ask runs a command for a test that polls, and returns 0 for what is not there.
func (b listBench) ask(t testing.TB, args ...any) int64 {
	t.Helper()
	n, err := b.rdb.Do(context.WithoutCancel(t.Context()), args...).Int64()
	if err != nil && err != redis.Nil { //nolint:errorlint // go-redis returns it bare
		t.Fatal(err)
	}
	return n
}

// drained reports that no job is in the shards, in running or in the pool.
func (b listBench) drained(t testing.TB) bool {
	t.Helper()
	n := b.ask(t, "ZCARD", b.lists.Running) + b.ask(t, "ZCARD", b.lists.Pool)
	for _, key := range b.lists.Lists {
		n += b.ask(t, "LLEN", key)
	}
	return n == 0
}
