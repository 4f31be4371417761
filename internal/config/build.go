package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sidecar/fastcgi"
	"sidecar/queue"
)

// builder puts a configuration together from a document. What it finds wrong goes to the document.
type builder struct {
	*document
	cfg      Config
	env      func(string) (string, bool)
	pools    map[string]*table
	defaults *table
}

func (b *builder) build() {
	top := &table{doc: b.document, keys: b.root, bad: map[string]bool{}}
	top.decode(topFields(&b.cfg))
	b.checkTop(top)
	b.buildAdmin(top.section("admin", "a table [admin]"))
	b.buildRedis(top.section("redis", "a table [redis]"))
	b.buildPools(top.section("fpm", "tables [fpm.<name>]"))
	b.defaults = top.section("defaults", "a table [defaults]")
	topics, lists := top.section("topic", "tables [topic.<name>]"), top.section("list", "tables [list.<name>]")
	b.buildTopics(topics)
	b.buildLists(lists)
	if len(topics.keys)+len(lists.keys) == 0 {
		b.fault(topics.head, `topic: want at least one, such as [topic.order_timeout] with script = "/path/to/job.php", or a [list.<name>]`)
	}
	b.checkUnused()
	b.checkSlots(topics)
	b.buildTrace(top.section("trace", "a table [trace]"))
	b.buildSpools(top.section("spool", "tables [spool.<name>]"))
	b.buildAlert(top.section("alert", "a table [alert]"))
}

func (b *builder) checkTop(t *table) {
	c := &b.cfg
	if c.Grace < 0 {
		t.faults(fmt.Errorf("grace = %q: want zero or more", c.Grace))
	}
	if c.PIDFile != "" && (!filepath.IsAbs(c.PIDFile) || filepath.Clean(c.PIDFile) != c.PIDFile) {
		t.faults(fmt.Errorf("pid_file = %q: want an absolute, clean path", c.PIDFile))
	}
	if c.Grace >= releasePatience {
		b.warn(t.line("grace"), "grace = %q: release scripts kill after %q, and docker stop and supervisor after 10s unless told otherwise", c.Grace, releasePatience)
	}
}

// poolName is what a pool may be called: it becomes part of file names and metric labels.
var poolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func (b *builder) buildPools(section *table) {
	b.pools = map[string]*table{}
	for _, name := range slices.Sorted(maps.Keys(section.keys)) {
		t := b.table(fmt.Sprintf("fpm %q", name), "a table [fpm.<name>]", section.keys[name])
		b.pools[name] = t
		if !poolName.MatchString(name) {
			t.faults(fmt.Errorf("name: want letters, digits, dots, dashes and underscores, it becomes part of file names"))
		}
		o := fastcgi.DefaultPoolOptions()
		o.Name = name
		t.decode(poolFields(&o))
		if t.keys != nil {
			t.faults(o.Validate())
		}
		b.cfg.FPM[name] = o
	}
	if len(section.keys) == 0 {
		b.fault(section.head, `fpm: want at least one pool, such as [fpm.default] with listen = "unix:///run/php/php-fpm.sock"`)
	}
}

func (b *builder) buildTopics(section *table) {
	common := DefaultTopic()
	b.defaults.decode(defaultsFields(&common))
	for _, name := range slices.Sorted(maps.Keys(section.keys)) {
		t := b.table(fmt.Sprintf("topic %q", name), "a table [topic.<name>]", section.keys[name])
		if t.keys != nil {
			topic := common
			b.read(name, &topic, t, topicFields(&topic))
			b.cfg.Topics = append(b.cfg.Topics, b.finish(topic, t))
		}
	}
}

// read reads the table of a topic or list over what topic has of [defaults].
func (b *builder) read(name string, topic *Topic, t *table, fields []field) {
	topic.Name, topic.Queue.Topic, topic.FPM.Topic = name, name, name
	topic.Queue.Retry = slices.Clone(topic.Queue.Retry)
	if t.has("call") || t.has("script") { // its own choice, not one more beside that of [defaults]
		topic.FPM.Call, topic.FPM.Script = "", ""
	}
	t.decode(fields)
	t.bad["script"] = t.bad["script"] || t.bad["call"]
}

// finish checks a topic or list that was read, and fills in what follows from its pool.
func (b *builder) finish(topic Topic, t *table) Topic {
	name := topic.Name
	if name == "" || strings.ContainsFunc(name, isControl) {
		t.faults(fmt.Errorf("name: want one, without control characters"))
	}
	pool, ok := b.cfg.FPM[topic.Pool]
	if !ok && len(b.pools) > 0 {
		names := slices.Sorted(maps.Keys(b.pools))
		t.faults(fmt.Errorf("fpm = %q: want one of the pools that [fpm.<name>] defines: %s", topic.Pool, strings.Join(names, ", ")), b.defaults)
	}
	if topic.Queue.Workers < 0 {
		t.faults(fmt.Errorf("workers = %d: want at least 1, or 0 for the pool's children", topic.Queue.Workers), b.defaults)
	}
	if topic.Queue.Workers <= 0 {
		topic.Queue.Workers = max(pool.Children, 1)
	}
	topic.FPM.Workers = topic.Queue.Workers
	if topic.FPM.Mode == fastcgi.ModeWorker && !inOrder(topic.Queue) {
		topic.Queue.LookAhead = lookAhead
	}
	t.faults(topic.Queue.Validate(), b.defaults)
	t.faults(topic.FPM.Validate(), b.defaults)
	if ok {
		b.checkBridge(topic, pool)
		b.adviseTopic(topic, pool, t)
	}
	return topic
}

// lookAhead is how many claims a resident worker may have at most (DESIGN 3). How many it has depends on how
// quick its jobs are, which the pool measures.
const lookAhead = 64

// inOrder reports whether a topic's jobs run in the order in which they came (docs/decisions/0017): those of a list that
// one worker runs. Jobs that wait for that worker would each do so in a goroutine of its own, in no order.
func inOrder(o queue.Options) bool { return o.List != nil && o.Workers == 1 }

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
