// Package wire reads the vectors of testdata/wire, which real PHP has made. Tests alone import it.
package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Keys are the groups of testdata/wire and the keys their vectors may have; a '?' ends an optional one.
func Keys() map[string][]string {
	return map[string][]string{
		"failures": {"case", "text", "error", "trace", "at", "tries", "failed", "dead", "replayed at", "replayed"},
		"random":   {"case", "text", "error", "trace", "at", "tries", "failed", "dead", "replayed at", "replayed"},
		"counts":   {"value", "int"},
		"texts":    {"case", "text", "error", "object", "uuid?"},
		"strings":  {"string", "json", "first"},
		"keys": {
			"prefix", "topic", "uuid", "pool", "ready", "running", "dead", "idem",
			"pool slot", "ready slot", "running slot", "dead slot", "idem slot",
		},
		"members":   {"setting", "member"},
		"encodings": {"form", "case", "length", "sha1", "text?", "stored"},
		"values":    {"form", "value", "stored"},
		"dates":     {"zone", "unix", "at"},
		"producer":  {"case", "profile", "key", "text", "uuid", "type?", "tries", "max retry?"},
	}
}

// Vector is one block of a vector file.
type Vector map[string]string

// Int returns the number under key.
func (v Vector) Int(t testing.TB, key string) int {
	t.Helper()
	n, err := strconv.Atoi(v[key])
	if err != nil {
		t.Fatalf("vector %q: %v", v, err)
	}
	return n
}

// Vectors returns the vectors of a committed group. dir is the directory testdata/wire.
func Vectors(t testing.TB, dir, group string) []Vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, group+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Parse(string(text), Keys()[group])
	if err != nil {
		t.Fatalf("%s.txt: %v", group, err)
	}
	return all
}

// Parse reads a vector file whole: an unknown, missing or repeated key is an error, and so is a number of vectors other
// than the head says.
func Parse(text string, keys []string) ([]Vector, error) {
	blocks := strings.Split(strings.TrimSuffix(text, "\n"), "\n\n")
	promised := strings.Split(blocks[0], "\n")
	if want := fmt.Sprintf("vectors: %d", len(blocks)-1); promised[len(promised)-1] != want {
		return nil, fmt.Errorf("head says %q, want %q", promised[len(promised)-1], want)
	}
	var all []Vector
	for _, block := range blocks[1:] {
		v := Vector{}
		for line := range strings.SplitSeq(block, "\n") {
			key, value, err := parseLine(line)
			if err != nil {
				return nil, err
			}
			if _, twice := v[key]; twice || !slices.Contains(keys, key) && !slices.Contains(keys, key+"?") {
				return nil, fmt.Errorf("key %q is unknown or repeated in %q", key, line)
			}
			v[key] = value
		}
		for _, key := range keys {
			if _, ok := v[key]; !ok && !strings.HasSuffix(key, "?") {
				return nil, fmt.Errorf("no key %q in %q", key, block)
			}
		}
		all = append(all, v)
	}
	return all, nil
}

func parseLine(line string) (key, value string, err error) {
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		return "", "", fmt.Errorf("no key in %q", line)
	}
	value = strings.TrimPrefix(value, " ")
	if name, ok := strings.CutSuffix(key, " (base64)"); ok {
		raw, err := base64.StdEncoding.DecodeString(value)
		return name, string(raw), err
	}
	if name, ok := strings.CutSuffix(key, " (json)"); ok {
		err := json.Unmarshal([]byte(value), &value)
		return name, value, err
	}
	return key, value, nil
}
