package doctor

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/internal/plural"
)

// checkPHP is about what the pool's PHP says of itself and of the jobs' code.
func checkPHP(all *findings, where string, f Facts, p Pool) {
	php := p.PHP
	if before(php.Version, 7, 2) {
		all.say("php-version", where, "it is PHP %s", php.Version)
	}
	if v := php.ini("display_errors"); v != "" && v != "0" && v != "stderr" && !strings.EqualFold(v, "off") {
		all.say("php-display-errors", where, "display_errors is %s", v)
	}
	checkFunctions(all, where, f.Host, p)
	checkLimits(all, where, p)
	checkTimes(all, where, f.Config, p)
	checkOpcache(all, where, php)
	for _, t := range p.Topics {
		for _, path := range codeOf(t) {
			checkFile(all, "topic "+t.Name, path, php)
		}
	}
}

func checkFunctions(all *findings, where string, h Host, p Pool) {
	missing := slices.DeleteFunc(slices.Clone(p.PHP.Missing), func(name string) bool { return name == "posix_kill" })
	if len(missing) > 0 {
		all.say("php-functions", where, "missing are %s; disable_functions is %q", strings.Join(missing, ", "), p.PHP.ini("disable_functions"))
	}
	uid := h.UID
	if h.Service != nil && h.Service.UID >= 0 {
		uid = h.Service.UID
	}
	if uid == 0 || uid == p.UID { // it may signal the children
		return
	}
	if slices.Contains(p.PHP.Missing, "posix_kill") {
		all.say("php-posix", where, "posix_kill is missing; PHP runs as %s, the sidecar as uid %d", uidText(p.UID), uid)
	} else if h.Service != nil {
		all.say("service-rights", where, "PHP runs as %s, the service as %s, uid %d", uidText(p.UID), h.Service.User, uid)
	}
}

func uidText(uid int) string {
	if uid < 0 {
		return "a user that is not known here"
	}
	return "uid " + strconv.Itoa(uid)
}

func checkLimits(all *findings, where string, p Pool) {
	limit := p.PHP.ini("memory_limit")
	bytes := phpBytes(limit)
	for _, t := range p.Topics {
		own := bytes
		if t.FPM.MemoryLimit != "" {
			own = phpBytes(t.FPM.MemoryLimit)
		}
		if t.FPM.Mode == fastcgi.ModeWorker && t.FPM.MaxMemory > 0 && own > 0 && t.FPM.MaxMemory >= own {
			all.say("php-memory-worker", "topic "+t.Name, "max_memory is %d, memory_limit %d", t.FPM.MaxMemory, own)
		}
	}
	if bytes < 0 && slices.ContainsFunc(p.Topics, func(t config.Topic) bool { return t.FPM.MemoryLimit == "" }) {
		all.say("php-memory-unlimited", where, "memory_limit is %s", limit)
	}
	most := time.Duration(number(p.PHP.ini("max_execution_time"))) * time.Second
	for _, t := range p.Topics {
		// The bridge lifts the limit where it may: only raw scripts, and pools that forbid that, have it.
		if most > 0 && most < longestRun(t) && (!t.FPM.Bridge || slices.Contains(p.PHP.Missing, "set_time_limit")) {
			all.say("php-time-limit", "topic "+t.Name, "max_execution_time is %s, timeout %s", most, longestRun(t))
		}
	}
}

// phpBytes reads a size as PHP writes it; below 0 there is no limit.
func phpBytes(text string) int64 {
	if text == "" {
		return 0
	}
	unit := int64(1)
	switch text[len(text)-1] {
	case 'k', 'K':
		unit = 1 << 10
	case 'm', 'M':
		unit = 1 << 20
	case 'g', 'G':
		unit = 1 << 30
	}
	return number(strings.TrimRight(text, "kKmMgG")) * unit
}

// clockMost is how far PHP's clock may be off this host's.
const clockMost = 5

func checkTimes(all *findings, where string, cfg *config.Config, p Pool) {
	if zone, err := time.LoadLocation(p.PHP.Timezone); err == nil && !sameZone(zone, cfg.Timezone, p.Asked) {
		all.say("php-timezone", where, "PHP's is %s, the sidecar's %s", p.PHP.Timezone, zoneName(cfg.Timezone)).
			do("timezone = %q in %s", p.PHP.Timezone, cfg.Path)
	}
	if off := p.PHP.Time - float64(p.Asked.UnixMicro())/1e6; !p.Asked.IsZero() && math.Abs(off) > clockMost+poolPatience.Seconds() { //nolint:forbidigo // it is the host's clock that is in question
		all.say("php-clock", where, "it is off by %.0f s", off)
	}
}

// sameZone reports that both zones show the same time, now and half a year later.
func sameZone(a, b *time.Location, now time.Time) bool {
	for _, t := range []time.Time{now, now.AddDate(0, 6, 0)} {
		_, offA := t.In(a).Zone()
		if _, offB := t.In(b).Zone(); offA != offB {
			return false
		}
	}
	return true
}

func zoneName(zone *time.Location) string {
	if zone == time.Local {
		return "the system's"
	}
	return zone.String()
}

// lateMost is how many seconds PHP may go on with old code after a deploy.
const lateMost = 10

func checkOpcache(all *findings, where string, php *PHP) {
	if !on(php.ini("opcache.enable")) {
		all.say("opcache-off", where, "opcache is not loaded, or opcache.enable is 0")
		return
	}
	switch freq := number(php.ini("opcache.revalidate_freq")); {
	case !on(php.ini("opcache.validate_timestamps")):
		all.say("opcache-deploy", where, "opcache.validate_timestamps is 0")
	case freq > lateMost:
		all.say("opcache-late", where, "opcache.revalidate_freq is %d s", freq)
	}
	if dir := php.ini("opcache.file_cache"); dir != "" {
		all.say("opcache-file-cache", where, "opcache.file_cache is %s", dir)
	}
	o := php.Opcache
	if o == nil {
		return
	}
	total := o.Used + o.Free + o.Wasted
	switch {
	case o.Full || o.Restarts > 0:
		all.say("opcache-full", where, "the cache is or was full: %s%% of it are used, %d of %d keys, %s for want of room since PHP-FPM started", percent(o.Used, total), o.Keys, o.MaxKeys, plural.Of(o.Restarts, "restart", "restarts"))
	case o.Free*20 < total || o.MaxKeys > 0 && o.Keys*20 > o.MaxKeys*19:
		all.say("opcache-full", where, "the cache is nearly full: %s%% of it are used, %d of %d keys", percent(o.Used, total), o.Keys, o.MaxKeys)
	}
}

func percent(part, whole int64) string {
	if whole == 0 {
		return "0"
	}
	return strconv.FormatInt(part*100/whole, 10)
}

// checkFile is about one file of a topic's code.
func checkFile(all *findings, where, path string, php *PHP) {
	at := slices.IndexFunc(php.Files, func(file PHPFile) bool { return file.Path == path })
	if at < 0 {
		return
	}
	file := php.Files[at]
	switch {
	case strings.Contains(file.Why, "open_basedir"):
		all.say("script-outside", where, "%s is outside of open_basedir %s", path, php.ini("open_basedir"))
	case file.Error == "missing":
		all.say("script-missing", where, "%s does not exist, as PHP sees it", path)
	case file.Error == "unreadable":
		all.say("script-unreadable", where, "%s cannot be read by the pool's user, uid %d", path, php.UID)
	case file.Error == "syntax":
		all.say("script-syntax", where, "%s: %s", path, file.Why).do("mend it: php -l %s", path)
	case file.Unparsed:
		all.say("script-unparsed", where, "%s is too large to be parsed here, or PHP has no tokenizer", path).do("php -l %s", path)
	}
}
