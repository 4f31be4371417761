package wire_test

import (
	"path/filepath"
	"testing"

	"sidecar/internal/testenv/wire"
)

const dir = "../../../testdata/wire"

func TestEveryVectorFileIsReadCompletely(t *testing.T) {
	files, err := filepath.Glob(dir + "/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	groups := wire.Keys()
	if len(files) != len(groups) {
		t.Errorf("%d vector files, %d groups known to the tests", len(files), len(groups))
	}
	for group := range groups {
		if len(wire.Vectors(t, dir, group)) == 0 {
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
	keys := wire.Keys()["counts"]
	for name, text := range tests {
		if got, err := wire.Parse(text, keys); err == nil {
			t.Errorf("%s: parsed as %q", name, got)
		}
	}
	if _, err := wire.Parse("vectors: 1\n\nvalue: 1\nint: 1\n", keys); err != nil {
		t.Errorf("without a fault: %v", err)
	}
}
