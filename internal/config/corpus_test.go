package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/internal/trace"
	"sidecar/queue"
)

const corpus = "../../testdata/config"

// noEnv is an environment without variables.
func noEnv(string) (string, bool) { return "", false }

// lines returns what the comments of a corpus file that begin with sign expect, in order.
func lines(data []byte, sign string) []string {
	var all []string
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, sign); ok {
			all = append(all, strings.TrimRight(rest, "\r\n"))
		}
	}
	return all
}

// glob returns the corpus files that match pattern, by base name.
func glob(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(corpus, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus file matches %s: %v", pattern, err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = data
	}
	return files
}

// parse parses a configuration that must hold.
func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("sidecar.toml", []byte(text), noEnv)
	if err != nil {
		t.Fatalf("does not hold:\n%v", err)
	}
	return c
}

func TestValidFilesHoldAndWarnAsTheySay(t *testing.T) {
	for name, data := range glob(t, "valid-*.toml") {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse(name, data, noEnv)
			if err != nil {
				t.Fatalf("does not hold:\n%v", err)
			}
			if got, want := c.Warnings(), lines(data, "# warn: "); !slices.Equal(got, want) {
				t.Errorf("warnings\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
			}
		})
	}
}

func TestInvalidFilesReportAllTheirFaultsAtOnce(t *testing.T) {
	for name, data := range glob(t, "invalid-*.toml") {
		t.Run(name, func(t *testing.T) {
			want := strings.Join(lines(data, "# want: "), "\n")
			if want == "" {
				t.Fatal("the file does not say what it wants")
			}
			c, err := config.Parse(name, data, noEnv)
			if err == nil {
				t.Fatalf("holds, want:\n%s", want)
			}
			if c != nil {
				t.Error("a configuration came with the error")
			}
			if err.Error() != want {
				t.Errorf("\n got %s\nwant %s", err, want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the error shows the password")
			}
		})
	}
}

func TestTheMinimalFileGetsEveryDefault(t *testing.T) {
	data := glob(t, "valid-minimal.toml")["valid-minimal.toml"]
	got := parse(t, string(data))

	want := config.Default()
	want.Path = "sidecar.toml"
	want.Redis.URL = "redis://127.0.0.1:6379/0"
	pool := want.FPM["default"]
	pool.Name, pool.Listen, pool.Children, pool.BridgeDir = "default", "unix:///run/php/php8.2-fpm.sock", 8, "/run/sidecar"
	want.FPM["default"] = pool
	topic := config.DefaultTopic()
	topic.Name, topic.Queue.Topic, topic.FPM.Topic = "order_timeout", "order_timeout", "order_timeout"
	topic.Queue.Workers, topic.FPM.Workers = 8, 8
	topic.FPM.Script = "/srv/shop/jobs/order_timeout.php"
	want.Topics = []config.Topic{topic}

	if !reflect.DeepEqual(*got, want) {
		t.Errorf("\n got %+v\nwant %+v", *got, want)
	}
}

func TestLineEndsAndByteOrderMarksDoNotMatter(t *testing.T) {
	data := string(glob(t, "valid-minimal.toml")["valid-minimal.toml"])
	want := parse(t, data)
	for name, text := range map[string]string{"CRLF": strings.ReplaceAll(data, "\n", "\r\n"), "BOM": "\ufeff" + data} {
		if got := parse(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	_, err := config.Parse("sidecar.toml", []byte("log = \"json\"\r\ntimezone = \"UTC\r\n"), noEnv)
	if err == nil || !strings.HasPrefix(err.Error(), "sidecar.toml:2:") {
		t.Errorf("got %v, want the text without an end in line 2", err)
	}
	_, err = config.Parse("sidecar.toml", []byte("\ufeffgrace = 1\r\nlog = 2\r\n"), noEnv)
	if err == nil || !strings.Contains(err.Error(), "sidecar.toml:1: grace") || !strings.Contains(err.Error(), "sidecar.toml:2: log") {
		t.Errorf("got %v, want faults in lines 1 and 2", err)
	}
}

// Every option of valid-every-option.toml differs from its default, so none of them can be read into another's place.
func TestEveryOptionArrivesWhereItBelongs(t *testing.T) {
	c := parse(t, string(glob(t, "valid-every-option.toml")["valid-every-option.toml"]))

	if c.Grace != 10*time.Second || c.PIDFile != "/run/sidecar/sidecar.pid" || c.Timezone.String() != "Asia/Shanghai" {
		t.Errorf("top: got %v %v %v", c.Grace, c.PIDFile, c.Timezone)
	}
	if c.Log.Format != "json" || c.Log.Level.String() != "DEBUG" || c.Admin.Listen != "localhost:9999" {
		t.Errorf("log, admin: got %+v %+v", c.Log, c.Admin)
	}
	redis := queue.RedisOptions{
		URL: "rediss://10.0.0.1:6380", Username: "jobs", DB: 3, KeyPrefix: "laravel_database_", Protocol: 2,
		TLS: queue.TLSOptions{Enabled: true, ServerName: "redis.internal"},
	}
	if !reflect.DeepEqual(c.Redis, redis) {
		t.Errorf("redis: got %+v, want %+v", c.Redis, redis)
	}
	if want := (trace.Options{Endpoint: "https://otel.internal:4318", Sample: 0.25, Service: "shop-jobs"}); !reflect.DeepEqual(c.Trace, want) {
		t.Errorf("trace: got %+v", c.Trace)
	}
	pool := c.FPM["jobs"]
	pool.Name = ""
	if got, want := reflect.ValueOf(pool), reflect.ValueOf(fastcgi.DefaultPoolOptions()); !allDiffer(got, want, "Name") {
		t.Errorf("fpm: got %+v", pool)
	}
	list, topic := c.Topics[0], c.Topics[1]
	topic.FPM.Bridge = false // the one option that excludes others: valid-raw.toml has it
	plain := config.DefaultTopic()
	plain.FPM.Script, topic.FPM.Script = "-", "" // as well
	if !allDiffer(reflect.ValueOf(topic.Queue), reflect.ValueOf(plain.Queue), "List") || !allDiffer(reflect.ValueOf(topic.FPM), reflect.ValueOf(plain.FPM), "Routes") {
		t.Errorf("topic: got %+v", topic)
	}
	wantEveryListOption(t, list)
	if topic.Pool != "jobs" || topic.FPM.Weight != 2 {
		t.Errorf("what [defaults] says did not arrive: %+v", topic)
	}
	if topic.FPM.OutputLimit != 1<<20 || topic.Queue.Workers != 3 || topic.FPM.Workers != 3 || len(topic.Queue.Retry) != 2 {
		t.Errorf("topic: got %+v", topic)
	}
}

func wantEveryListOption(t *testing.T, list config.Topic) {
	t.Helper()
	want := config.DefaultList()
	want.Name, want.Queue.Topic, want.FPM.Topic, want.Pool, want.FPM.Weight = "send_sms", "send_sms", "send_sms", "jobs", 2
	want.Queue.Workers, want.FPM.Workers = 4, 4 // the pool's children
	*want.Queue.List = queue.ListOptions{Key: "queue:{prod}:send_sms", Shards: 8, Order: queue.FIFO, Dead: "queue:{prod}:dead_letter", MaxRetry: 5, Types: []string{"send_sms", "sms.bulk/v2", "sms_template"}, Default: true}
	want.Queue.Retry, want.Queue.Idempotency = []time.Duration{0, 10 * time.Second}, queue.IdempotencyOn
	want.FPM.Call = `App\Jobs\Sms::send`
	want.FPM.Routes = map[string]fastcgi.Target{
		"sms_template": {Script: "/srv/shop/jobs/template.php", Timeout: 10 * time.Second},
		"sms.bulk/v2":  {Call: `App\Jobs\Bulk::send`},
	}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("list:\n got %+v %+v\nwant %+v %+v", list, *list.Queue.List, want, *want.Queue.List)
	}
}

// allDiffer reports whether no field of the structs a and b has the same value in both.
func allDiffer(a, b reflect.Value, but ...string) bool {
	for i := range a.NumField() {
		if !slices.Contains(but, a.Type().Field(i).Name) && reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			return false
		}
	}
	return true
}

func TestATopicOverrulesDefaults(t *testing.T) {
	c := parse(t, string(glob(t, "valid-defaults.toml")["valid-defaults.toml"]))
	audit, mail := c.Topics[0], c.Topics[1]
	if audit.Name != "audit" || mail.Name != "mail" {
		t.Fatalf("topics are not sorted: %q, %q", audit.Name, mail.Name)
	}
	if audit.FPM.Call != "Audit::write" || audit.FPM.Script != "" || audit.FPM.Bootstrap != "" || audit.Queue.Workers != 8 {
		t.Errorf("audit: got %+v", audit)
	}
	if mail.FPM.Script != "/srv/shop/jobs/dispatch.php" || mail.FPM.Bootstrap == "" || mail.Queue.Workers != 2 || len(mail.Queue.Retry) != 0 {
		t.Errorf("mail: got %+v", mail)
	}
}

func TestRawModeAndSizesInBytes(t *testing.T) {
	c := parse(t, string(glob(t, "valid-raw.toml")["valid-raw.toml"]))
	raw := c.Topics[0].FPM
	if raw.Bridge || raw.OutputLimit != 4096 || !reflect.DeepEqual(raw.SuccessBody, regexp.MustCompile("^ok$")) {
		t.Errorf("got %+v", raw)
	}
}

func TestLoadNamesAFileThatIsMissing(t *testing.T) {
	_, err := config.Load(filepath.Join(t.TempDir(), "none.toml"))
	if err == nil || !strings.Contains(err.Error(), "none.toml") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}
