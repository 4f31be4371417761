package doctor_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sidecar/internal/config"
	"sidecar/internal/doctor"
	"sidecar/internal/testenv"
)

// Each node is looked at by its own name, and the topics' keys wherever they lie.
func TestEveryNodeOfAClusterIsLookedAt(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, false)
	testenv.Do(t, c.Nodes[1], "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	var addrs []string
	for _, node := range c.Nodes {
		addrs = append(addrs, fmt.Sprintf("%q", node.Addr))
	}
	text := fmt.Sprintf("[redis]\naddrs = [%s]\ncluster = true\n[fpm.default]\nlisten = \"unix:///nowhere/fpm.sock\"\n[topic.\"{mail}\"]\nscript = \"/nowhere/job.php\"\n", strings.Join(addrs, ","))
	cfg, err := config.Parse(filepath.Join(t.TempDir(), "sidecar.toml"), []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	found := doctor.Examine(t.Context(), cfg, doctor.Options{Root: t.TempDir()})
	coverage := 0
	for _, f := range found {
		switch f.ID {
		case "redis-cluster-coverage":
			coverage++
		case "redis-eviction":
			if f.Where != "redis "+c.Nodes[1].Addr {
				t.Errorf("%s evicts, want %s", f.Where, c.Nodes[1].Addr)
			}
		case "redis-down", "redis-unasked", "redis-cluster-slots":
			t.Errorf("%s %s: %s", f.ID, f.Where, f.Found)
		}
	}
	if coverage != 3 {
		t.Errorf("%d nodes were asked for their configuration, want 3: %+v", coverage, found)
	}
}
