package fastcgi

import (
	"os"
	"path/filepath"
	"testing"
)

// tree makes files and symlinks below a new root.
func tree(t *testing.T, files []string, links map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRealPathsInAChrootStayInside(t *testing.T) {
	root := tree(t, []string{"app/r1/h.php", "etc/passwd", "h.php"}, map[string]string{
		"app/current":  "/app/r1",
		"app/relative": "r1",
		"app/up":       "../../../../etc",
		"app/host":     "/etc/passwd",
		"app/loop":     "loop",
		"app/chain":    "current",
	})
	for path, want := range map[string]string{
		"/h.php":              "/h.php",
		"/app/current/h.php":  "/app/r1/h.php",
		"/app/relative/h.php": "/app/r1/h.php",
		"/app/chain/h.php":    "/app/r1/h.php",
		"/app/up/passwd":      "/etc/passwd", // the jail's, not the host's
		"/app/host":           "/etc/passwd",
		"/app/loop/h.php":     "/app/loop/h.php", // cannot be seen: as configured
		"/app/none/h.php":     "/app/none/h.php",
	} {
		if got := newFollower(root).follow(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestFilesAreResolvedTogether(t *testing.T) {
	root := tree(t, []string{"r1/jobs/a.php", "r1/vendor/autoload.php", "lib/b.php"}, map[string]string{"current": "r1"})
	at := func(path string) string { return filepath.Join(root, path) }
	for _, tt := range []struct{ script, bootstrap, wantScript, wantBootstrap string }{
		{at("current/jobs/a.php"), at("current/vendor/autoload.php"), at("r1/jobs/a.php"), at("r1/vendor/autoload.php")},
		{at("current/jobs/a.php"), at("lib/b.php"), at("r1/jobs/a.php"), at("lib/b.php")},
		{at("current/jobs/a.php"), "", at("r1/jobs/a.php"), ""},
		{"", at("current/vendor/autoload.php"), "", at("r1/vendor/autoload.php")},
		{"/elsewhere/a.php", at("lib/b.php"), "/elsewhere/a.php", at("lib/b.php")},
	} {
		together := newFollower("")
		if script, bootstrap := together.follow(tt.script), together.follow(tt.bootstrap); script != tt.wantScript || bootstrap != tt.wantBootstrap {
			t.Errorf("%s and %s are %s and %s", tt.script, tt.bootstrap, script, bootstrap)
		}
	}
}

// A deploy between two looks changes nothing for whoever has begun to look, whichever of the paths lie together.
func TestASwitchMeanwhileIsNotFollowed(t *testing.T) {
	root := tree(t, []string{"r1/a.php", "r1/b.php", "r2/a.php", "r2/b.php", "lib/c.php"}, map[string]string{"current": "r1"})
	at := func(path string) string { return filepath.Join(root, path) }
	before := newFollower("")
	before.follow(at("lib/c.php"))
	before.follow(at("current/a.php"))
	if err := os.Remove(at("current")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("r2", at("current")); err != nil {
		t.Fatal(err)
	}
	if got := before.follow(at("current/b.php")); got != at("r1/b.php") {
		t.Errorf("before the switch: %s", got)
	}
	if got := newFollower("").follow(at("current/b.php")); got != at("r2/b.php") {
		t.Errorf("after it: %s", got)
	}
}

func TestOnlyWhatThisHostSeesCanBeMissing(t *testing.T) {
	root := tree(t, []string{"jobs/a.php"}, nil)
	for path, want := range map[string]bool{
		filepath.Join(root, "jobs/a.php"): false,
		filepath.Join(root, "jobs/b.php"): true,
		filepath.Join(root, "jobs"):       true, // a directory is no script
		"/in/another/container/a.php":     false,
	} {
		if got := seenMissing("", path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
