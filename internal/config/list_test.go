package config_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/internal/config"
	"sidecar/queue"
)

const oneList = `
[fpm.default]
listen = "unix:///run/php/php-fpm.sock"

[list.sms]
key = "queue:prod:sms"
dead = "queue:prod:dead_letter"
call = "Sms::send"
`

func TestAListGetsTheDefaultsOfLists(t *testing.T) {
	c := parse(t, oneList)
	want := config.DefaultList()
	want.Name, want.Queue.Topic, want.FPM.Topic = "sms", "sms", "sms"
	want.Queue.List.Key, want.Queue.List.Dead, want.Queue.List.Default = "queue:prod:sms", "queue:prod:dead_letter", true
	want.Queue.List.Types = []string{"sms"}
	want.Queue.Workers, want.FPM.Workers, want.FPM.Call = 8, 8, "Sms::send"
	if got := c.Topics; len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if o := c.Topics[0].Queue; len(o.Retry) != 1 || o.Retry[0] != 0 || o.List.MaxRetry != 3 || o.List.Order != queue.FIFO || o.List.Shards != 0 {
		t.Errorf("got %+v %+v, want the old worker's ways (CONTRACT 2)", o, o.List)
	}
}

func TestTopicsAndListsStandTogetherByName(t *testing.T) {
	c := parse(t, oneList+"[topic.z]\ncall = \"Z::run\"\n[topic.a]\ncall = \"A::run\"\n")
	if got := c.TopicNames(); !slices.Equal(got, []string{"a", "sms", "z"}) {
		t.Errorf("got %v", got)
	}
	for _, topic := range c.Topics {
		if isList := topic.Name == "sms"; (topic.Queue.List != nil) != isList {
			t.Errorf("%s: list %v, want %t", topic.Name, topic.Queue.List, isList)
		}
	}
}

func TestListsTakeFromDefaultsWhatIsForThem(t *testing.T) {
	c := parse(t, string(glob(t, "valid-lists.toml")["valid-lists.toml"]))
	byName := map[string]config.Topic{}
	for _, topic := range c.Topics {
		byName[topic.Name] = topic
	}
	mail, v1, v2, topic := byName["mail"], byName["sms_v1"], byName["sms_v2"], byName["order_timeout"]

	if topic.Queue.ScoreUnit != queue.Seconds || topic.Queue.ReadyMax != 5 || topic.Queue.List != nil {
		t.Errorf("topic: got %+v", topic.Queue)
	}
	if mail.Queue.ScoreUnit != queue.Milliseconds || mail.Queue.ReadyMax != queue.DefaultOptions().ReadyMax {
		t.Errorf("mail takes over what is for topics: %+v", mail.Queue)
	}
	wantMail := queue.ListOptions{Key: "queue:prod:mail", Order: queue.FIFO, Dead: "queue:prod:dead_letter", MaxRetry: 1, Types: []string{"mail"}, Default: true, Foreign: []string{"sms"}}
	if !reflect.DeepEqual(*mail.Queue.List, wantMail) || mail.Queue.Workers != 2 || mail.FPM.Script == "" {
		t.Errorf("mail: got %+v %+v", mail, *mail.Queue.List)
	}
	if !slices.Equal(mail.Queue.Retry, []time.Duration{time.Second, 10 * time.Second}) || !slices.Equal(v1.Queue.Retry, []time.Duration{0}) {
		t.Errorf("retry: got %v and %v", mail.Queue.Retry, v1.Queue.Retry)
	}
	if v1.Queue.List.Order != queue.LIFO || v1.Queue.List.MaxRetry != 0 || v2.Queue.List.Order != queue.FIFO || v2.Queue.List.MaxRetry != 1 {
		t.Errorf("lists share what is one's own: %+v %+v", *v1.Queue.List, *v2.Queue.List)
	}
	if v2.FPM.Script != "" || len(v2.FPM.Routes) != 2 || v1.FPM.Routes != nil {
		t.Errorf("routes: got %+v and %+v, want no default route for sms_v2", v1.FPM, v2.FPM)
	}
}

// What [defaults] says of retries holds for lists, too, and is not mistaken for a list's own default.
func TestRetryOfDefaultsIsForListsToo(t *testing.T) {
	c := parse(t, "[defaults]\nretry = [\"5s\"]\n"+oneList)
	if got := c.Topics[0].Queue.Retry; !slices.Equal(got, []time.Duration{5 * time.Second}) {
		t.Errorf("got %v", got)
	}
	for option, want := range map[string]string{
		"retry = []":               `sidecar.toml:2: defaults: retry: want at least one wait for a list`,
		`idempotency = "legacy"`:   `sidecar.toml:2: defaults: idempotency = "legacy": want "off" or "on" for a list`,
		`dead = "sidecar:reasons"`: "", // overruled
	} {
		_, err := config.Parse("sidecar.toml", []byte("[defaults]\n"+option+"\n"+oneList), noEnv)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", option, err, want)
		}
	}
}

// A file with such a number must be refused before a key is made for each shard.
func TestAListOfMillionsOfShardsIsRefusedAtOnce(t *testing.T) {
	_, err := config.Parse("sidecar.toml", []byte(oneList+"shards = 9000000000000000\n[list.b]\nkey=\"b\"\ndead=\"d\"\ncall=\"B::b\"\nshards=-1\n"), noEnv)
	if err == nil || strings.Count(err.Error(), "\n") != 1 || strings.Count(err.Error(), "want 1 to 256") != 2 {
		t.Errorf("got %v", err)
	}
}

// Dead letters that say no reason are told apart by their types (see queue.ListOptions).
func TestListsKnowWhichDeadLettersAreTheirs(t *testing.T) {
	c := parse(t, oneList+`
[list.sms.route.otp]
call = "Sms::otp"

[list.sms.route.alarm]
call = "Sms::alarm"

[list.mail]
key = "queue:prod:mail"
dead = "queue:prod:dead_letter"
route = { newsletter = { call = "Mail::news" }, otp = { call = "Mail::otp" } }

[list.other]
key = "queue:prod:other"
dead = "queue:prod:dead_other"
call = "Other::run"
route = { push = { call = "Other::push" } }
`)
	mail, other, sms := c.Topics[0].Queue.List, c.Topics[1].Queue.List, c.Topics[2].Queue.List
	for name, tt := range map[string]struct {
		got            *queue.ListOptions
		types, foreign []string
		rest           bool
	}{
		"mail":  {mail, []string{"newsletter", "otp"}, []string{"alarm", "otp", "sms"}, false},
		"other": {other, []string{"other", "push"}, nil, true},
		"sms":   {sms, []string{"alarm", "otp", "sms"}, []string{"newsletter", "otp"}, true},
	} {
		if !slices.Equal(tt.got.Types, tt.types) || !slices.Equal(tt.got.Foreign, tt.foreign) || tt.got.Default != tt.rest {
			t.Errorf("%s: got %+v, want %v, %v and %t", name, tt.got, tt.types, tt.foreign, tt.rest)
		}
	}
}
