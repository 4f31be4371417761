package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"sidecar/internal/config"
	"sidecar/queue"
)

// What a reload calls anew is the same list, and what it calls the same may be another one.
func TestATopicIsFollowedByItsKeys(t *testing.T) {
	topic := func(name string) config.Topic { return config.Topic{Name: name} }
	list := func(name, key string, shards int) config.Topic {
		return config.Topic{Name: name, Queue: queue.Options{List: &queue.ListOptions{Key: key, Shards: shards}}}
	}
	for name, tt := range map[string]struct {
		a, b config.Topic
		want bool
	}{
		"the same topic":          {topic("sms"), topic("sms"), true},
		"another topic":           {topic("sms"), topic("mail"), false},
		"a list for a topic":      {topic("sms"), list("sms", "sms", 0), false},
		"a topic for a list":      {list("sms", "sms", 0), topic("sms"), false},
		"the same list":           {list("sms", "queue:sms", 0), list("sms", "queue:sms", 0), true},
		"a list under a new name": {list("sms", "queue:sms", 0), list("send_sms", "queue:sms", 0), true},
		"a list with a new key":   {list("sms", "queue:v1:sms", 0), list("sms", "queue:v2:sms", 0), false},
		"a list with more shards": {list("sms", "queue:sms", 4), list("sms", "queue:sms", 8), true},
		"a list that got its own": {list("sms", "queue:sms", 0), list("sms", "queue:sms", 8), true},
	} {
		if got := sameKeys(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// Whoever takes a list out of the configuration must be told what is left behind, and nobody else.
func TestAListThatIsDroppedIsTold(t *testing.T) {
	list := func(name, key string) config.Topic {
		return config.Topic{Name: name, Queue: queue.Options{List: &queue.ListOptions{Key: key}}}
	}
	var lines bytes.Buffer
	of := func(topics ...config.Topic) *generation {
		g := &generation{cfg: &config.Config{Topics: topics}, log: slog.New(slog.NewTextHandler(&lines, nil))}
		for _, t := range topics {
			g.topics = append(g.topics, &topic{name: t.Name})
		}
		return g
	}
	old := of(list("gone", "queue:gone"), list("renamed", "queue:renamed"), config.Topic{Name: "delayed"})
	old.tellLeft(t.Context(), of(list("anew", "queue:renamed")))
	if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "list=gone key=queue:gone") {
		t.Errorf("logged %s, want a line about the list that is gone", got)
	}
}
