package queue_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	headerLine = regexp.MustCompile(`^-- (KEYS|ARGV)\[(\d+)(\.\.)?\]  +\S`)
	literalUse = regexp.MustCompile(`(KEYS|ARGV)\[(\d+)\]`)
	indexedUse = regexp.MustCompile(`(KEYS|ARGV)\[([a-z][^\]]*)\]`)
	redisCall  = regexp.MustCompile(`redis\.p?call\('([A-Z]+)'(, ?([^,)]*))?`)
)

// luaScripts returns the header and the body of each script, by verb.
func luaScripts(t *testing.T) map[string][2]string {
	t.Helper()
	paths, err := filepath.Glob("lua/*.lua")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	scripts := make(map[string][2]string)
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		header, body, ok := strings.Cut(string(source), "\n\n")
		if !ok {
			t.Fatalf("%s: no empty line behind the header", path)
		}
		scripts[strings.TrimSuffix(filepath.Base(path), ".lua")] = [2]string{header, body}
	}
	return scripts
}

func TestScriptHeadersNameEveryKeyAndArgument(t *testing.T) {
	for verb, script := range luaScripts(t) {
		header, body := script[0], script[1]
		if !strings.HasPrefix(header, "-- "+verb+".lua: ") {
			t.Errorf("%s: the header begins %.30q", verb, header)
		}
		if !strings.Contains(header, "\n-- Returns ") {
			t.Errorf("%s: the header does not say what is returned", verb)
		}
		named := map[string]bool{} // "KEYS 1", and "KEYS .." for those that go on
		for line := range strings.Lines(header) {
			if m := headerLine.FindStringSubmatch(line); m != nil {
				named[m[1]+" "+m[2]] = true
				if m[3] != "" {
					named[m[1]+" .."] = true
				}
			}
		}
		used := map[string]bool{}
		for _, m := range literalUse.FindAllStringSubmatch(body, -1) {
			used[m[1]+" "+m[2]] = true
			if !named[m[1]+" "+m[2]] {
				t.Errorf("%s uses %s[%s], which the header does not name", verb, m[1], m[2])
			}
		}
		for _, m := range indexedUse.FindAllStringSubmatch(body, -1) {
			used[m[1]+" .."] = true
			if !named[m[1]+" .."] {
				t.Errorf("%s uses %s[%s], and no header line says that they go on", verb, m[1], m[2])
			}
		}
		for name := range named {
			kind, index, _ := strings.Cut(name, " ")
			if !used[name] && !used[kind+" .."] {
				t.Errorf("%s: the header names %s[%s], which the body does not use", verb, kind, index)
			}
		}
	}
}

// C96, C97: compatible servers refuse keys that are not given in KEYS, and proxies read the text of a
// script: the key of a command must be written there as KEYS[…].
func TestScriptsTouchOnlyDeclaredKeys(t *testing.T) {
	keyless := []string{"TIME"}
	for verb, script := range luaScripts(t) {
		calls := redisCall.FindAllStringSubmatch(script[1], -1)
		if n := strings.Count(script[1], "call("); n != len(calls) {
			t.Errorf("%s: %d calls, of which %d name their command", verb, n, len(calls))
		}
		for _, call := range calls {
			command, key := call[1], call[3]
			if slices.Contains(keyless, command) {
				continue
			}
			if !regexp.MustCompile(`^KEYS\[(\d+|[a-z]+)\]$`).MatchString(key) {
				t.Errorf("%s: %s gets %q for a key, want KEYS[…]", verb, command, key)
			}
		}
	}
}

func TestScriptsRunOnEveryServer(t *testing.T) {
	for verb, script := range luaScripts(t) {
		header, body := script[0], script[1]
		for _, not := range []string{"cjson", "#!", "FUNCTION", "LMOVE", "'BYSCORE'", "'GT'", "'LT'", "redis.log", "setresp"} {
			if strings.Contains(header+body, not) {
				t.Errorf("%s: %s is not for every server", verb, not)
			}
		}
		if n := strings.Count(body, "LPOS"); n != strings.Count(body, "redis.pcall('LPOS'") {
			t.Errorf("%s: LPOS needs Redis 6.0.6, so only pcall may try it", verb)
		}
		writes := regexp.MustCompile(`'(ZADD|ZREM|ZREMRANGEBYRANK|LTRIM|RPUSH|LPUSH|LPOP|SET|DEL|HSET|HDEL)'`).MatchString(body)
		first, _, _ := strings.Cut(body, "\n")
		if writes && strings.Contains(body, "'TIME'") && first != "if redis.replicate_commands then redis.replicate_commands() end" {
			t.Errorf("%s reads TIME and writes: before Redis 5 only after replicate_commands, found %q first", verb, first)
		}
		if code := codeLines(body); code > 45 {
			t.Errorf("%s: %d lines of code, want at most 45", verb, code)
		}
		if !strings.HasSuffix(body, "\n") {
			t.Errorf("%s: no newline at its end", verb)
		}
	}
}

// codeLines counts the lines that are neither empty nor a comment.
func codeLines(body string) int {
	n := 0
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--") {
			n++
		}
	}
	return n
}

func TestPreflightTriesEveryCommandOfTheOtherScripts(t *testing.T) {
	scripts := luaScripts(t)
	for verb, script := range scripts {
		if strings.HasPrefix(verb, "pause") || verb == "swapfield" || verb == "beat" { // whoever may not pause consumes all the same
			continue
		}
		if verb == "preflight" || verb == "takeacks" || verb == "keepacks" || verb == "dropacks" { // Check runs these themselves
			continue
		}
		for _, call := range redisCall.FindAllStringSubmatch(script[1], -1) {
			command := strings.ToLower(call[1])
			if command == "lset" { // for moves of single dead jobs, which try it themselves: a consumer needs no such right
				continue
			}
			if command != "lpos" && !strings.Contains(scripts["preflight"][1], "try('"+command+"'") &&
				!strings.Contains(scripts["preflight"][1], "try('"+command+"', ") {
				t.Errorf("%s runs %s, which preflight does not try", verb, command)
			}
		}
	}
}
