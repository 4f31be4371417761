package fastcgi

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// follower finds real paths, where this host can see them: FPM's own idea of a symlink is up to ten minutes old after a
// deploy (realpath cache, opcache). It looks at each symlink once, for all paths it is asked for: a deploy that
// switches current/ in between cannot make a run mix two releases.
type follower struct {
	root  string            // the pool's chroot, "" for none
	links map[string]string // what the places on the way point to; "" for those that are no symlinks
}

func newFollower(chroot string) follower { return follower{root: chroot, links: map[string]string{}} }

// follow returns path, which is as FPM sees it, with its symlinks followed, or path itself where this host cannot see
// it: FPM may live in another container, where the same path means something.
func (f follower) follow(path string) string {
	if path == "" {
		return ""
	}
	if end, err := f.walk(path); err == nil {
		return end
	}
	return path
}

// errLoop reports symlinks that lead round in a circle.
var errLoop = errors.New("too many symlinks")

// walk follows the symlinks of path as a child with that root would: absolute ones begin at root again, and .. ends
// there. The result is a path inside.
func (f follower) walk(path string) (string, error) {
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
		to, err := f.link(next)
		if err != nil {
			return "", err
		}
		if to == "" {
			done = next
			continue
		}
		if links++; links > 40 {
			return "", errLoop
		}
		if filepath.IsAbs(to) {
			done = "/"
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return done, nil
}

// link returns what path points to, "" if it is no symlink.
func (f follower) link(path string) (string, error) {
	if to, ok := f.links[path]; ok {
		return to, nil
	}
	host := filepath.Join(f.root, path)
	stat, err := os.Lstat(host)
	if err != nil {
		return "", err
	}
	to := ""
	if stat.Mode()&fs.ModeSymlink != 0 {
		if to, err = os.Readlink(host); err != nil {
			return "", err
		}
	}
	f.links[path] = to
	return to, nil
}

// seenMissing reports that this host sees the directory of path, but no file there.
func seenMissing(chroot, path string) bool {
	host := filepath.Join(chroot, newFollower(chroot).follow(path))
	if _, err := os.Stat(filepath.Dir(host)); err != nil {
		return false
	}
	stat, err := os.Stat(host)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !stat.Mode().IsRegular()
}
