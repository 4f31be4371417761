package fastcgi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

const (
	// maxType bounds a route's type, in bytes.
	maxType = 128
	// maxCall bounds a call, in bytes: it goes to a worker with each of its jobs.
	maxCall = 1024
)

// validateTarget checks what FPM is to run: either call or script, through the bridge or, raw, the script itself.
func (o TopicOptions) validateTarget() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	// Raw: without the bridge's sign, only the output can tell success from what looks like it (FPM-FACTS 1).
	if !o.Bridge && o.SuccessBody == nil {
		bad("success_body: want a pattern with bridge = false, FPM's status cannot tell success from a fatal error")
	}
	if o.Call != "" || o.Script != "" || len(o.Routes) == 0 { // with routes there need be no default
		errs = append(errs, Target{Call: o.Call, Script: o.Script}.faults(o.Bridge)...)
	}
	if o.Bootstrap != "" && !absolute(o.Bootstrap) {
		bad("bootstrap = %q: want an absolute, clean path as FPM sees it", o.Bootstrap)
	}
	if !o.Bridge && o.Bootstrap != "" {
		bad("bootstrap = %q: want none with bridge = false, nobody would include it", o.Bootstrap)
	}
	return errors.Join(errs...)
}

// validateRoutes checks what the routes run, and which jobs they are for.
func (o TopicOptions) validateRoutes() error {
	var errs []error
	for _, typ := range slices.Sorted(maps.Keys(o.Routes)) {
		to := o.Routes[typ]
		faults := to.faults(o.Bridge)
		if typ == "" || len(typ) > maxType || strings.ContainsFunc(typ, unicode.IsControl) {
			faults = append(faults, fmt.Errorf("want a type of 1 to %d bytes without control characters", maxType))
		}
		if to.Timeout > o.AbandonAfter {
			faults = append(faults, fmt.Errorf("timeout = %q: want at most abandon_after = %q, a run is not given up before it is late", to.Timeout, o.AbandonAfter))
		}
		for _, fault := range faults {
			errs = append(errs, fmt.Errorf("route %s: %w", showType(typ), fault))
		}
	}
	return errors.Join(errs...)
}

// faults says what is wrong with to, which the bridge is to run, or FPM itself.
func (to Target) faults(bridge bool) []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	switch {
	case to.Call == "" && to.Script == "":
		bad(`script: want script = "/path/to/job.php" or call = "App\\Jobs\\Name::handle", found neither`)
	case to.Call != "" && to.Script != "":
		bad("call = %q: want either call or script, found both", to.Call)
	case len(to.Call) > maxCall:
		bad("call = %q…: want at most %d bytes", to.Call[:maxType], maxCall)
	case to.Call != "" && !callable.MatchString(to.Call):
		bad(`call = %q: want "Class::method" or a function, each \ written twice in "…" and once in '…'`, to.Call)
	case to.Script != "" && !absolute(to.Script):
		bad("script = %q: want an absolute, clean path as FPM sees it", to.Script)
	}
	if to.Call != "" && !bridge {
		bad("call = %q: want script with bridge = false, FPM runs files only", to.Call)
	}
	// A topic's own is checked as such; here 0 stands for it, and what is less than a millisecond would be none.
	if to.Timeout != 0 && to.Timeout < time.Millisecond {
		bad("timeout = %q: want at least 1ms, or none for the topic's own", to.Timeout)
	}
	return errs
}
