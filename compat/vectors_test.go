package compat_test

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

// vectorKeys are the groups of ../testdata/wire and the keys their vectors may have; a '?' ends an optional one.
var vectorKeys = map[string][]string{
	"failures": {"case", "text", "error", "trace", "at", "tries", "failed", "dead", "replayed at", "replayed"},
	"random":   {"case", "text", "error", "trace", "at", "tries", "failed", "dead", "replayed at", "replayed"},
	"counts":   {"value", "int"},
	"texts":    {"case", "text", "error", "object", "uuid?"},
	"strings":  {"string", "json", "first"},
	"keys": {
		"prefix", "topic", "uuid", "pool", "ready", "running", "dead", "idem",
		"pool slot", "ready slot", "running slot", "dead slot", "idem slot",
	},
	"members": {"setting", "member"},
	"dates":   {"zone", "unix", "at"},
}

// vector is one block of a vector file.
type vector map[string]string

// int returns the number under key.
func (v vector) int(t testing.TB, key string) int {
	t.Helper()
	n, err := strconv.Atoi(v[key])
	if err != nil {
		t.Fatalf("vector %q: %v", v, err)
	}
	return n
}

// vectors returns the vectors of a committed group.
func vectors(t testing.TB, group string) []vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "wire", group+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseVectors(string(text), vectorKeys[group])
	if err != nil {
		t.Fatalf("%s.txt: %v", group, err)
	}
	return all
}

// parseVectors reads a vector file whole: an unknown, missing or repeated key is an error, and so is a
// number of vectors other than the head says.
func parseVectors(text string, keys []string) ([]vector, error) {
	blocks := strings.Split(strings.TrimSuffix(text, "\n"), "\n\n")
	promised := strings.Split(blocks[0], "\n")
	if want := fmt.Sprintf("vectors: %d", len(blocks)-1); promised[len(promised)-1] != want {
		return nil, fmt.Errorf("head says %q, want %q", promised[len(promised)-1], want)
	}
	var all []vector
	for _, block := range blocks[1:] {
		v := vector{}
		for line := range strings.SplitSeq(block, "\n") {
			key, value, err := parseVectorLine(line)
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

func parseVectorLine(line string) (key, value string, err error) {
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

func TestEveryVectorFileIsReadCompletely(t *testing.T) {
	files, err := filepath.Glob("../testdata/wire/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(vectorKeys) {
		t.Errorf("%d vector files, %d groups known to the tests", len(files), len(vectorKeys))
	}
	for group := range vectorKeys {
		if len(vectors(t, group)) == 0 {
			t.Errorf("%s.txt has no vectors", group)
		}
	}
}

func TestAVectorFileWithAFaultIsRefused(t *testing.T) {
	tests := map[string]string{
		"unknown key":   "vectors: 1\n\nvalue: 1\nint: 1\nx: 1\n",
		"missing key":   "vectors: 1\n\nvalue: 1\n",
		"repeated key":  "vectors: 1\n\nvalue: 1\nvalue: 1\nint: 1\n",
		"line without":  "vectors: 1\n\nvalue: 1\nint: 1\nfoo\n",
		"wrong number":  "vectors: 2\n\nvalue: 1\nint: 1\n",
		"broken base64": "vectors: 1\n\nvalue (base64): ?\nint: 1\n",
		"broken json":   "vectors: 1\n\nvalue (json): ?\nint: 1\n",
		"no head":       "value: 1\nint: 1\n",
	}
	for name, text := range tests {
		if got, err := parseVectors(text, vectorKeys["counts"]); err == nil {
			t.Errorf("%s: parsed as %q", name, got)
		}
	}
	if _, err := parseVectors("vectors: 1\n\nvalue: 1\nint: 1\n", vectorKeys["counts"]); err != nil {
		t.Errorf("without a fault: %v", err)
	}
}
