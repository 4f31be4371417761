package alert

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"sidecar/queue"
)

// Options are the table [alert] with its targets and rules, named as in the TOML file.
type Options struct {
	Name     string         // name: what messages call this system; "" = the host's name
	Language string         // language: of messages
	Every    time.Duration  // every: how often the rules are looked at
	Builtin  bool           // builtin: the built-in rules hold, too
	Zone     *time.Location // the configuration's timezone: of times in messages
	Targets  []Target       // sorted by name
	Rules    []Rule         // sorted by name, the built-in ones included
}

// Target is one [alert.target.<name>] table.
type Target struct {
	Name   string
	Kind   string       // kind
	URL    queue.Secret // url, or what url_file holds: whoever knows it can write to the group
	Secret queue.Secret // what secret_file holds: messages are signed with it
	At     []string     // at: user ids to be mentioned, "all" for everybody
	Rate   int          // rate: messages a minute at most
}

// The kinds of target.
const (
	DingTalk = "dingtalk"
	WeCom    = "wecom"
	Feishu   = "feishu"
	JSON     = "json"
)

// The languages of messages.
const (
	English = "en"
	Chinese = "zh"
)

const (
	minEvery = time.Second
	maxEvery = 5 * time.Minute
)

// called returns what messages call this system.
func (o Options) called() string {
	if o.Name != "" {
		return o.Name
	}
	host, err := os.Hostname()
	if err != nil {
		return "?"
	}
	return host
}

// DefaultOptions returns the defaults: without a target nothing is told to anybody, and nothing is looked at.
func DefaultOptions() Options {
	return Options{Language: English, Every: 10 * time.Second, Builtin: true}
}

// DefaultTarget returns the defaults of a target. DingTalk and WeCom take 20 messages a minute, and the group has others
// than this sidecar to hear from.
func DefaultTarget() Target { return Target{Rate: 10} }

// Validate reports every bad option at once. Each fault begins with the option's name in the TOML file.
func (o Options) Validate() error {
	var errs []error
	if o.Every < minEvery || o.Every > maxEvery {
		errs = append(errs, fmt.Errorf("every = %q: want %q to %q", o.Every, minEvery, maxEvery))
	}
	if len(o.Name) > 100 || strings.ContainsFunc(o.Name, isControl) {
		errs = append(errs, errors.New("name: want at most 100 bytes, without control characters"))
	}
	return errors.Join(errs...)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// nameForm is that of targets and rules: they stand in keys and label values.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func nameFault(name string) error {
	if nameForm.MatchString(name) {
		return nil
	}
	return errors.New("name: want letters, digits, dots, dashes and underscores, at most 64")
}

// userID is what the three services accept as one. Phone numbers are none: they would stand in files and messages.
var (
	userID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$`)
	phone  = regexp.MustCompile(`^(86)?1[3-9][0-9]{9}$`)
)

// Validate reports every bad option at once. No fault shows the URL.
func (t Target) Validate() error {
	errs := []error{nameFault(t.Name)}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.Contains([]string{DingTalk, WeCom, Feishu, JSON}, t.Kind) {
		bad("kind = %q: want %q, %q, %q or %q", t.Kind, DingTalk, WeCom, Feishu, JSON)
	}
	if fault := urlFault(t.Kind, string(t.URL)); fault != "" {
		bad("url: want %s (it is not shown, whoever knows it can write to the group)", fault)
	}
	if t.Secret != "" && t.Kind == WeCom {
		bad("secret_file: WeCom's robots take no signature: want none")
	}
	if t.Kind == JSON && len(t.At) > 0 {
		bad("at: the generic form mentions nobody: want none")
	}
	for _, id := range t.At {
		if !userID.MatchString(id) || phone.MatchString(id) {
			bad(`at: want user ids, or "all": letters, digits and _ . @ -; no phone numbers`)
			break
		}
	}
	if t.Rate < 1 || t.Rate > 600 {
		bad("rate = %d: want 1 to 600 messages a minute", t.Rate)
	}
	return errors.Join(errs...)
}

// urlFault says what is wanted instead of a webhook's URL, "" if nothing is wrong with it.
func urlFault(kind, raw string) string {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return "the webhook's address, here or in the file that url_file names"
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "an https:// address"
	case u.Scheme == "http" && kind != JSON && u.Hostname() != "localhost" && !strings.HasPrefix(u.Hostname(), "127.") && u.Hostname() != "::1":
		return "https:// for any other host than this one, its path and query are the password"
	}
	return ""
}

// rule returns the rule of that name, if it is switched on.
func (o Options) rule(name string) (Rule, bool) {
	i := slices.IndexFunc(o.Rules, func(r Rule) bool { return r.Name == name && r.Enabled })
	if i < 0 {
		return Rule{}, false
	}
	return o.Rules[i], true
}

// target returns the target of that name.
func (o Options) target(name string) (Target, bool) {
	i := slices.IndexFunc(o.Targets, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return Target{}, false
	}
	return o.Targets[i], true
}

// tells reports whether the rule's alarms are for the target.
func (r Rule) tells(target string) bool {
	return len(r.Targets) == 0 || slices.Contains(r.Targets, target)
}

// TargetNames returns the names of all targets.
func (o Options) TargetNames() []string {
	names := make([]string, 0, len(o.Targets))
	for _, t := range o.Targets {
		names = append(names, t.Name)
	}
	return names
}
