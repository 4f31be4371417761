package queue_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// The list, its dead letters and our keys share a slot; acks lie anywhere.
func TestAListInAClusterHasItsAcksElsewhere(t *testing.T) {
	t.Parallel()
	nodes := testenv.Cluster(t, false)
	rdb := open(t, queue.RedisOptions{Addrs: []string{nodes.Nodes[0].Addr}, Cluster: true}, "{mail}")
	opts := queue.DefaultOptions()
	list := queue.DefaultListOptions()
	list.Key, list.Dead, list.Shards, list.Default = "queue:{sms}", "queue:{sms}:dead", 3, true
	opts.Topic, opts.List, opts.Idempotency = "sms", &list, queue.IdempotencyOn
	store := queue.NewStore(rdb, "", opts)
	if err := store.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys := compat.NewListKeys("", list.Key, list.Dead, list.Shards)
	homes := map[int]bool{}
	for i := range 12 {
		id := fmt.Sprint("j", i)
		homes[nodes.Home(keys.Ack(id))] = true
		if err := store.Push(t.Context(), listJob(id), 0); err != nil {
			t.Fatal(err)
		}
	}
	if len(homes) != 3 {
		t.Fatalf("the acks lie on %d nodes, want all three", len(homes))
	}
	c, err := store.Claim(t.Context(), 12)
	if err != nil || len(c.List) != 12 {
		t.Fatalf("claimed %d, %v", len(c.List), err)
	}
	var acks []queue.Ack
	var ids []string
	for _, claim := range c.List {
		job, err := compat.ParseListJob(bare(claim.Text))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, job.UUID())
		acks = append(acks, queue.Ack{UUID: job.UUID(), Text: claim.Text})
	}
	standings, err := store.TakeAcks(t.Context(), acks)
	for i, s := range standings {
		if err != nil || s != (queue.Standing{}) {
			t.Errorf("%s: %+v, %v", ids[i], s, err)
		}
	}
	settleThirds(t, store, c.List, ids)
	want := map[string]string{}
	for _, id := range ids[:4] {
		want[id] = "done"
	}
	got := map[string]string{}
	for _, id := range ids {
		if says := rdb.Get(t.Context(), keys.Ack(id)).Val(); says != "" {
			got[id] = says
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("acks are %v, want %v", got, want)
	}
	d, err := store.Depths(t.Context())
	if err != nil || d.Ready != 2 || d.Pool != 2 || d.Running != 0 || d.Dead != 4 {
		t.Errorf("depths %+v, %v", d, err)
	}
	if r, err := store.Replay(t.Context(), 1, false, time.UTC); err != nil || len(r.Replayed) != 1 {
		t.Errorf("replay: %+v, %v", r, err)
	}
}

// settleThirds completes four of twelve claims, requeues four, two of them with a delay, and buries four.
func settleThirds(t *testing.T, store *queue.Store, list []queue.Claim, ids []string) {
	t.Helper()
	for i, c := range list {
		var err error
		var results []queue.SettleResult
		switch i / 4 {
		case 0:
			results, err = store.Complete(t.Context(), []queue.Completion{{Text: c.Text, Held: c.Lease, UUID: ids[i], Sole: true}})
		case 1:
			results, err = store.Requeue(t.Context(), []queue.Requeueing{{Text: c.Text, Held: c.Lease, UUID: ids[i], NewText: "x", Delay: time.Duration(i%2) * time.Hour}})
		case 2:
			results, err = store.Bury(t.Context(), []queue.Burial{{Text: c.Text, Held: c.Lease, UUID: ids[i], Record: "r"}})
		}
		if err != nil || results[0].Settlement != queue.Settled {
			t.Errorf("%s: %v, %v", ids[i], results, err)
		}
	}
}
