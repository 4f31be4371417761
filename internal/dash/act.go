package dash

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// confirmBody asks whether that is really meant.
type confirmBody struct {
	Verb      string
	Topic     string
	Act       Act
	Filter    filterForm
	Selection Selection
	Pause     PauseOrder
	For       string
	Undo      string
	Waiting   int64 // pause: jobs that will wait
	Back      string
	TypeName  bool // the topic's name is to be typed
	Wrong     bool // it was typed wrongly
}

// pauseFors are the lengths that the form of a pause offers; "" is until it is resumed.
var pauseFors = []string{"10m", "1h", "8h", "24h", ""}

// PauseFors is pauseFors for templates.
func (topicBody) PauseFors() []string { return pauseFors }

// order is what a form asks for.
type order struct {
	verb     string
	act      Act
	filter   filterForm
	pause    PauseOrder
	pauseFor string
	back     string
}

// verbKeys says of which key's jobs a verb may be asked for.
var verbKeys = map[string][]string{
	VerbReplay:  {KeyDead},
	VerbDrop:    {KeyDead},
	VerbRequeue: {KeyPool},
	VerbPause:   nil,
	VerbResume:  nil,
	VerbUndo:    nil,
}

// orderOf reads the form of r.
func (p *Pages) orderOf(r *http.Request) (order, error) {
	form, w := r.PostForm, p.words(r)
	o := order{verb: form.Get("verb"), back: back(form)}
	keys, known := verbKeys[o.verb]
	if !known {
		return o, inputError{w.t("error.verb", clipped(o.verb, rowText))}
	}
	o.act = Act{Topic: form.Get("t"), Key: form.Get("k"), Refs: form["ref"], KeepRetry: form.Get("keep_retry") != ""}
	if len(keys) > 0 && !slices.Contains(keys, o.act.Key) {
		return o, inputError{w.t("error.verb_key", o.verb, clipped(o.act.Key, rowText))}
	}
	if len(keys) > 0 && len(o.act.Refs) == 0 && form.Get("all") == "" {
		return o, inputError{w.t("error.none_selected")}
	}
	var err error
	if o.filter, err = newFilter(form, p.opts.Timezone, w); err != nil {
		return o, err
	}
	if len(o.act.Refs) == 0 {
		o.act.Filter = o.filter.Filter
	}
	return o, o.readPause(form, w)
}

func (o *order) readPause(form url.Values, w words) error {
	if o.verb != VerbPause {
		return nil
	}
	o.pauseFor = strings.TrimSpace(form.Get("for"))
	o.pause = PauseOrder{Topic: o.act.Topic, Reason: strings.TrimSpace(form.Get("reason"))}
	if o.pauseFor == "" {
		return nil
	}
	d, err := time.ParseDuration(o.pauseFor)
	if err != nil || d <= 0 || d > LongestPause {
		return inputError{w.t("error.duration", clipped(o.pauseFor, rowText))}
	}
	o.pause.For = Seconds(d.Seconds())
	return nil
}

// back is the page that a form came from, which must be one of ours.
func back(form url.Values) string {
	if path := localPath(form.Get("back")); path != "" {
		return path
	}
	return link("topic", "t", form.Get("t"), "k", form.Get("k"))
}

// confirm shows what an act would take, and how much of it, and asks.
func (p *Pages) confirm(r *http.Request, v *view) error {
	o, err := p.orderOf(r)
	if err != nil {
		return err
	}
	body, err := p.asking(r, o)
	if err != nil {
		return err
	}
	v.Title, v.Body = v.words.t("confirm."+o.verb), body
	return nil
}

// asking looks at what an order would take.
func (p *Pages) asking(r *http.Request, o order) (confirmBody, error) {
	body := confirmBody{Verb: o.verb, Topic: o.act.Topic, Act: o.act, Filter: o.filter, Pause: o.pause, For: o.pauseFor, Undo: r.PostForm.Get("undo"), Back: o.back}
	if verbKeys[o.verb] == nil {
		topic, err := p.source.Topic(r.Context(), o.act.Topic)
		body.Waiting = topic.Topic.Depths.Waiting()
		return body, err
	}
	var err error
	body.Selection, err = p.source.Select(r.Context(), o.act)
	body.TypeName = o.verb == VerbDrop && !o.single()
	return body, err
}

// act does what was confirmed, and leads back to where it was asked for.
func (p *Pages) act(w http.ResponseWriter, r *http.Request) {
	o, err := p.orderOf(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	if o.verb == VerbDrop && !p.reallyMeant(w, r, o) {
		return
	}
	done, err := p.do(r, o)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	// Not http.Redirect: that makes the link absolute, and does not know what prefix a proxy has taken away.
	w.Header().Set("Location", backWith(o.back, o.verb, done))
	w.WriteHeader(http.StatusSeeOther)
}

// single reports that one job was selected. For one a tick will do; more want the topic's name typed, since a mistake is dear then.
func (o order) single() bool { return len(o.act.Refs) == 1 }

// reallyMeant asks again where the sign that a drop is meant is missing: the topic's name, or a tick for one job.
func (p *Pages) reallyMeant(w http.ResponseWriter, r *http.Request, o order) bool {
	if r.PostForm.Get("name") == o.act.Topic || o.single() && r.PostForm.Get("sure") != "" {
		return true
	}
	v := p.newView(w, r)
	body, err := p.asking(r, o)
	if err != nil {
		p.fail(w, r, err)
		return false
	}
	body.Wrong = true
	v.Title, v.Body = v.words.t("confirm."+o.verb), body
	p.render(w, r, http.StatusBadRequest, "confirm", v)
	return false
}

func (p *Pages) do(r *http.Request, o order) (Result, error) {
	ctx := r.Context()
	switch o.verb {
	case VerbReplay:
		return p.source.Replay(ctx, o.act)
	case VerbDrop:
		return p.source.Drop(ctx, o.act)
	case VerbRequeue:
		return p.source.Requeue(ctx, o.act)
	case VerbUndo:
		return p.source.Undo(ctx, r.PostForm.Get("undo"))
	case VerbPause:
		return Result{}, p.source.Pause(ctx, o.pause)
	}
	ended, err := p.source.Resume(ctx, o.act.Topic)
	if !ended {
		return Result{}, err
	}
	return Result{Count: 1}, err
}

// did is what the page that an act leads back to tells about it. It comes with the link, which anybody may have written: it
// picks words of ours and says numbers, and what can be undone by it has to be confirmed.
type did struct {
	Verb    string
	Count   int64
	Gone    int64
	Skipped int64
	More    bool
	Undo    string
}

// Message names what is said of it first.
func (d did) Message() string {
	if d.Verb == VerbResume && d.Count == 0 {
		return "did.resume.nothing"
	}
	return "did." + d.Verb
}

// backWith adds to the link back what was done.
func backWith(back, verb string, res Result) string {
	path, query, _ := strings.Cut(back, "?")
	q, _ := url.ParseQuery(query)
	q.Set("did", verb)
	set := func(name string, n int64) {
		if n != 0 {
			q.Set(name, strconv.FormatInt(n, 10))
		}
	}
	set("n", res.Count)
	set("gone", int64(res.Gone))
	set("skipped", int64(res.Skipped))
	if res.More {
		q.Set("more", "1")
	}
	if res.Undo != "" {
		q.Set("undo", res.Undo)
	}
	return path + "?" + q.Encode()
}

// didOf reads what backWith wrote.
func didOf(q url.Values) *did {
	verb := q.Get("did")
	if _, known := verbKeys[verb]; !known {
		return nil
	}
	n := func(name string) int64 {
		n, _ := strconv.ParseInt(q.Get(name), 10, 64)
		return max(0, n)
	}
	return &did{Verb: verb, Count: n("n"), Gone: n("gone"), Skipped: n("skipped"), More: q.Get("more") != "", Undo: q.Get("undo")}
}
