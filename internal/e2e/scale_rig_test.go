package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// The keys of a shop's large topic and large list. Both are paused, so that what lies there stays.
const (
	bigPool    = "delay:pool:" + topic
	bigReady   = "delay:ready:" + topic
	bigRunning = "delay:running:" + topic
	bigDead    = "delay:dead:" + topic
	bigList    = "big_list"
)

// bigShop is a rig with many topics, of which one topic and one list are large.
type bigShop struct {
	*rig
	conf   string
	topics int // all of them
	jobs   int // in the large topic's pool
}

// newBigShop is a shop with so many topics and lists, large and small ones, without jobs.
func newBigShop(t testing.TB, topics int) *bigShop {
	t.Helper()
	r := newRigWith(t, testenv.FPMOptions{Children: 8})
	s := &bigShop{rig: r, topics: topics}
	var b strings.Builder
	fmt.Fprintf(&b, "[defaults]\nmode = \"request\"\nscript = %q\n", filepath.Join(r.dir, r.script))
	fmt.Fprintf(&b, "[topic.%s]\n", topic)
	for i := range topics - 2 {
		fmt.Fprintf(&b, "[topic.small_%03d]\n", i)
	}
	fmt.Fprintf(&b, "[list.%s]\nkey = \"big:list\"\ndead = \"big:dead\"\nshards = 4\n", bigList)
	s.conf = r.write("sidecar.toml", r.servers()+b.String())
	pause := `{"by":"test","reason":"what lies here stays","at":"2026-01-02T03:04:05Z"}`
	if err := r.rdb.HSet(t.Context(), "sidecar:paused", topic, pause, bigList, pause).Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

// fillScript writes ARGV[3] texts from number ARGV[2] on into KEYS[1]. Every other one is of the web shop, its
// siblings are of the app.
var fillScript = redis.NewScript(`
local kind, first, n, score, text = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
for i = first, first + n - 1 do
  local id = (i % 2 == 0 and 'ord_web_' or 'ord_app_') .. kind .. string.format('%07d', i)
  local one = string.gsub(text, '@', id)
  if score > 0 then
    redis.call('ZADD', KEYS[1], string.format('%.0f', score + i), one)
  else
    redis.call('RPUSH', KEYS[1], one)
  end
end`)

const (
	scaleJob    = `{"uuid":"@","topic":"order_timeout","payload":{"order":"@","note":"` + scaleFiller + `"},"retry":2,"last_error":"boom"}`
	scaleLetter = `{"job_id":"@","type":"send_sms","payload":{"note":"` + scaleFiller + `"},"retry_count":3,"max_retry":3,"created_at":1732900000}`
	scaleDead   = `{"job":` + scaleJob + `,"error":"boom: the supplier says no","trace":"#0 ` + scaleFiller + `","at":"2026-01-02 03:04:05"}`
	scaleFiller = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
)

// fill makes it so many jobs in the large topic's pool, a fifth of it dead, a fiftieth ready, and a thousandth running; in the
// large list half as many as dead; and some in each small topic.
func (s *bigShop) fill(t testing.TB, jobs int) {
	t.Helper()
	later := time.Now().Add(1000 * time.Hour).UnixMilli() //nolint:forbidigo // far from now by any clock
	for _, part := range []struct {
		key, kind, text string
		share           int // one of so many
		score           int64
	}{
		{bigPool, "p", scaleJob, 1, later},
		{bigDead, "d", scaleDead, 5, 0},
		{bigReady, "r", scaleJob, 50, 0},
		{bigRunning, "u", scaleJob, 1000, later},
		{"big:list_0", "l", scaleLetter, 10, 0},
		{"big:list_3", "m", scaleLetter, 50, 0},
		{"big:dead", "n", scaleLetter, 10, 0},
	} {
		s.fillOne(t, part.key, part.kind, part.text, s.jobs/part.share, jobs/part.share, part.score)
	}
	if s.jobs == 0 {
		for i := range s.topics - 2 {
			s.fillOne(t, fmt.Sprintf("delay:pool:small_%03d", i), fmt.Sprintf("s%d", i), scaleJob, 0, 20, later)
			s.fillOne(t, fmt.Sprintf("delay:dead:small_%03d", i), fmt.Sprintf("s%d", i), scaleDead, 0, i%5, 0)
		}
	}
	s.jobs = jobs
}

func (s *bigShop) fillOne(t testing.TB, key, kind, text string, from, to int, score int64) {
	t.Helper()
	for i := from; i < to; i += 5000 {
		err := fillScript.Run(t.Context(), s.rdb, []string{key}, kind, i, min(5000, to-i), score, text).Err()
		if err != nil && err != redis.Nil { //nolint:errorlint // go-redis returns it bare
			t.Fatal(err)
		}
	}
}

// trail writes lines of the audit trail, as many as are kept.
func (s *bigShop) trail(t testing.TB) {
	t.Helper()
	pipe := s.rdb.Pipeline()
	for i := range 1000 {
		pipe.RPush(t.Context(), "sidecar:audit", fmt.Sprintf(`{"at":"2026-01-02T03:04:05Z","by":"cli ann@web1","verb":"replay","topic":"small_%03d","count":%d}`, i%100, i))
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// scriptNames are the sidecar's scripts by the names that Redis has for them.
func scriptNames(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../queue/lua/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts: %v", len(files), err)
	}
	names := make(map[string]string, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names[redis.NewScript(string(text)).Hash()] = strings.TrimSuffix(filepath.Base(file), ".lua")
	}
	return names
}
