package fastcgi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidecar/compat"
)

const (
	// typesNamed bounds the types that a refusal names, typeShown the bytes of a job's own.
	typesNamed = 10
	typeShown  = maxType

	// routesNeedNewerBridge is the call of a worker that serves routes. A bridge that knows routes gets its targets with
	// the jobs and never looks at it; a deployed copy that is older finds no such function, and says so by its name.
	routesNeedNewerBridge = "the_deployed_bridge_php_is_too_old_for_routes"
)

// route is the code of some of a topic's jobs: those of one type, or all that have no route of their own.
type route struct {
	typ     string // of its jobs; "" for the default route
	number  int    // its place in routes.list
	call    string
	script  string
	timeout time.Duration
}

// routes say which code runs which of a topic's jobs.
type routes struct {
	list   []*route          // the default route first, if there is one; then by type
	other  *route            // the default route, nil if there is none
	byType map[string]*route // nil for a topic without routes, whose jobs all take the default
}

func newRoutes(o TopicOptions) routes {
	var all routes
	add := func(typ string, to Target) *route {
		r := &route{typ: typ, number: len(all.list), call: to.Call, script: to.Script, timeout: to.Timeout}
		if r.timeout == 0 {
			r.timeout = o.Timeout
		}
		all.list = append(all.list, r)
		return r
	}
	if len(o.Routes) == 0 || o.Call != "" || o.Script != "" {
		all.other = add("", Target{Call: o.Call, Script: o.Script})
	}
	if len(o.Routes) > 0 {
		all.byType = make(map[string]*route, len(o.Routes))
	}
	for _, typ := range slices.Sorted(maps.Keys(o.Routes)) {
		all.byType[typ] = add(typ, o.Routes[typ])
	}
	return all
}

// byJob reports that each job says where it goes.
func (all routes) byJob() bool { return all.byType != nil }

// of returns the route of job. The error says why it has none, which no retry would change.
func (all routes) of(job compat.Job) (*route, error) {
	if !all.byJob() {
		return all.other, nil
	}
	typ := job.Type()
	switch to := all.byType[typ]; {
	case to != nil:
		return to, nil
	case all.other != nil:
		return all.other, nil
	case typ == "":
		return nil, errors.New("job has no type, and the list has no default route")
	}
	return nil, fmt.Errorf("no route for type %s; there are routes for %s", showType(typ), all.types())
}

// types names the types that have routes, the first of them.
func (all routes) types() string {
	var names []string
	for _, r := range all.list[:min(len(all.list), typesNamed)] { // there is no default route where this is asked
		names = append(names, showType(r.typ))
	}
	if more := len(all.list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// showType quotes a type for people: whoever writes jobs may write anything there.
func showType(typ string) string {
	if len(typ) > typeShown {
		return strconv.Quote(strings.ToValidUTF8(typ[:typeShown], "")) + "…"
	}
	return strconv.Quote(typ)
}

// scripts are the files that the routes run, each once.
func (all routes) scripts() []string {
	var list []string
	for _, r := range all.list {
		if r.script != "" && !slices.Contains(list, r.script) {
			list = append(list, r.script)
		}
	}
	return list
}

// longest is the timeout of the route that has the most time.
func (all routes) longest() time.Duration {
	var d time.Duration
	for _, r := range all.list {
		d = max(d, r.timeout)
	}
	return d
}

// targets are what the frames of a worker's jobs tell it, by the routes' numbers: "" where all of it was in its order.
// The scripts are found by at, all for one worker.
func (all routes) targets(at follower) []string {
	list := make([]string, len(all.list))
	for i, r := range all.list {
		if all.byJob() {
			list[i] = r.target(at.follow(r.script))
		}
	}
	return list
}

// target is the part of a job's header that names what runs it: members of a JSON object, behind others.
func (r *route) target(script string) string {
	text, err := json.Marshal(struct {
		Call      string `json:"call,omitempty"`
		Script    string `json:"script,omitempty"`
		TimeoutMS int64  `json:"timeout_ms"`
	}{r.call, script, r.timeout.Milliseconds()})
	if err != nil {
		panic(err) // two strings and a number
	}
	return "," + string(text[1:len(text)-1])
}

// named says of which route something is said, where there are several.
func (r *route) named(what string) string {
	if r == nil || r.typ == "" {
		return what
	}
	return "route " + showType(r.typ) + ": " + what
}

// rejected is what becomes of a job that no route is for.
func rejected(why error) compat.Outcome {
	return compat.Outcome{Verdict: compat.Rejected, Error: why.Error()}
}
