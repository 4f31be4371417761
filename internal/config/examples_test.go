package config_test

import (
	"path/filepath"
	"testing"

	"sidecar/internal/config"
)

// What docs/frameworks.md tells users to copy must hold.
func TestTheConfigurationsOfThePHPExamplesHold(t *testing.T) {
	paths, err := filepath.Glob("../../php-client/examples/*/sidecar.toml")
	if err != nil || len(paths) != 4 {
		t.Fatalf("found %q, %v: want the four frameworks'", paths, err)
	}
	for _, path := range paths {
		c, err := config.Load(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if warnings := c.Warnings(); len(warnings) > 0 {
			t.Errorf("%s warns: %q", path, warnings)
		}
	}
}
