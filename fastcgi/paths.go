package fastcgi

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// target is what one run includes, by real paths where this host can see them: FPM's own idea of a symlink is
// up to ten minutes old after a deploy (realpath cache, opcache).
type target struct {
	script    string
	bootstrap string
}

// resolve finds a topic's files for one run, as FPM sees them. What the two paths have in common is followed once
// for both: a deploy that switches current/ in between cannot make a run mix two releases.
func resolve(chroot string, o TopicOptions) target {
	if o.Script == "" || o.Bootstrap == "" {
		return target{script: realPath(chroot, o.Script), bootstrap: realPath(chroot, o.Bootstrap)}
	}
	common := commonDir(o.Script, o.Bootstrap)
	from := realPath(chroot, common)
	inside := func(path string) string {
		return realPath(chroot, filepath.Join(from, strings.TrimPrefix(path, common)))
	}
	return target{script: inside(o.Script), bootstrap: inside(o.Bootstrap)}
}

// commonDir returns the deepest directory that holds both a and b.
func commonDir(a, b string) string {
	dir := filepath.Dir(a)
	for dir != "/" && !strings.HasPrefix(b, dir+"/") {
		dir = filepath.Dir(dir)
	}
	return dir
}

// realPath returns path with its symlinks followed, or path itself where this host cannot see it: FPM may live
// in another container, where the same path means something.
func realPath(chroot, path string) string {
	if path == "" {
		return ""
	}
	follow := filepath.EvalSymlinks
	if chroot != "" {
		follow = func(path string) (string, error) { return resolveIn(chroot, path) }
	}
	if end, err := follow(path); err == nil {
		return end
	}
	return path
}

// errLoop reports symlinks that lead round in a circle.
var errLoop = errors.New("too many symlinks")

// resolveIn follows the symlinks of path as a child in the chroot root would: absolute ones begin at root again,
// and .. ends there. The result is a path inside.
func resolveIn(root, path string) (string, error) {
	done := "/"
	todo := strings.Split(path, "/")
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == "" || name == "." {
			continue
		}
		next := filepath.Join(done, name) // .. of / is /
		if name == ".." {
			done = next
			continue
		}
		stat, err := os.Lstat(filepath.Join(root, next))
		if err != nil {
			return "", err
		}
		if stat.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > 40 {
			return "", errLoop
		}
		to, err := os.Readlink(filepath.Join(root, next))
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) {
			done = "/"
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return done, nil
}

// seenMissing reports that this host sees the directory of path, but no file there.
func seenMissing(chroot, path string) bool {
	host := filepath.Join(chroot, realPath(chroot, path))
	if _, err := os.Stat(filepath.Dir(host)); err != nil {
		return false
	}
	stat, err := os.Stat(host)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !stat.Mode().IsRegular()
}
