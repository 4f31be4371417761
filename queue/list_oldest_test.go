package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

func TestAListIsAsOldAsItsOldestJobSays(t *testing.T) {
	server := testenv.Redis(t)
	rdb := server.Client()
	clock, err := rdb.Do(t.Context(), "TIME").Int64Slice()
	if err != nil {
		t.Fatal(err)
	}
	now := clock[0]
	job := func(createdAt string) string {
		return fmt.Sprintf(`{"job_id":"a","type":"sms","payload":{"created_at":1},"created_at":%s}`, createdAt)
	}
	ago := func(age time.Duration) string { return job(fmt.Sprint(now - int64(age.Seconds()))) }
	for name, tt := range map[string]struct {
		lists [2][]string // of the two shards, the newest first
		want  time.Duration
	}{
		"an empty list":               {[2][]string{}, 0},
		"one job":                     {[2][]string{{ago(time.Hour)}}, time.Hour},
		"the one at the old end":      {[2][]string{{ago(2 * time.Hour), ago(time.Hour)}}, time.Hour},
		"the older shard's":           {[2][]string{{ago(time.Minute)}, {ago(time.Hour)}}, time.Hour},
		"a shard that does not say":   {[2][]string{{`{"job_id":"a"}`}, {ago(time.Hour)}}, time.Hour},
		"no job":                      {[2][]string{{"no job"}}, 0},
		"a clock that is ahead":       {[2][]string{{ago(-time.Hour)}}, 0},
		"milliseconds":                {[2][]string{{job(fmt.Sprint(now * 1000))}}, 0},
		"nothing that is a time":      {[2][]string{{job(`"yesterday"`)}}, 0},
		"the beginning of all times":  {[2][]string{{job("0")}}, 0},
		"one too large to be read":    {[2][]string{{ago(time.Hour)[:20] + strings.Repeat(" ", 64<<10) + ago(time.Hour)[20:]}}, 0},
		"one just not too large":      {[2][]string{{ago(time.Hour) + strings.Repeat(" ", 64<<10-len(ago(time.Hour)))}}, time.Hour},
		"beyond what durations are":   {[2][]string{{job("-1e300")}}, 0},
		"neither in nor out of range": {[2][]string{{job("1e400")}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			rdb.FlushAll(t.Context())
			opts, list := queue.DefaultOptions(), queue.DefaultListOptions()
			list.Key, list.Dead, list.Shards = "queue:prod:sms", "queue:prod:dead_letter", 2
			opts.Topic, opts.List = "sms", &list
			for n, texts := range tt.lists {
				for _, text := range texts {
					rdb.RPush(t.Context(), fmt.Sprintf("queue:prod:sms_%d", n), text)
				}
			}
			d, err := queue.NewStore(rdb, "", opts).Depths(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if off := d.OldestDueAge - tt.want; off < 0 || off > time.Minute || tt.want == 0 && off != 0 {
				t.Errorf("the oldest is %s old, want %s", d.OldestDueAge, tt.want)
			}
		})
	}
}
