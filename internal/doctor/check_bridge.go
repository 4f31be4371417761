package doctor

import (
	"crypto/sha1" //nolint:gosec // compares a deployed file with ours; nothing is protected by it
	"encoding/hex"
	"errors"
	"strings"

	phpclient "sidecar/php-client"
)

// checkBridge is about the sidecar's own PHP files: whether they can be written, and whether PHP-FPM can read them.
func checkBridge(all *findings, where string, p Pool) {
	switch {
	case p.PlaceErr != nil && strings.Contains(p.PlaceErr.Error(), "belongs to uid"):
		all.say("bridge-dir-user", where, "%v", p.PlaceErr)
	case p.PlaceErr != nil:
		all.say("bridge-dir", where, "%v", p.PlaceErr)
	case p.PHPErr == nil:
		checkDeployed(all, where, p)
	case strings.Contains(p.PHPErr.Error(), "no child was free"):
		all.say("fpm-busy", where, "%v", p.PHPErr)
	case endsScripts(p.PHPErr):
		all.say("php-broken", where, "doctor.php: %v", p.PHPErr)
	case !isRefusal(p.PHPErr):
		all.say("php-unasked", where, "doctor.php: %v", p.PHPErr)
	case p.Opts.BridgePath != "":
		all.say("bridge-beside", where, "%v", p.PHPErr)
	default:
		found := all.say("bridge-unreadable", where, "%v", p.PHPErr)
		if root := p.Conf["chroot"]; root != "" {
			found.Found += "; the pool has chroot = " + root
		}
	}
}

// refusals are the words in which PHP-FPM says that it does not run a file (FPM-FACTS 1, 10).
var refusals = []string{"404", "403", "Primary script unknown", "No input file specified", "Permission denied", "has been denied"}

func isRefusal(err error) bool {
	for _, word := range refusals {
		if strings.Contains(err.Error(), word) {
			return true
		}
	}
	return false
}

// endsScripts reports that PHP ends a script of ours with a fatal error, or before it begins: so it does with the bridge, which
// needs no less of PHP. A script that ran out of memory in parsing the jobs' code is another matter.
func endsScripts(err error) bool {
	text := err.Error()
	return errors.Is(err, errNoAnswer) || strings.Contains(text, "answered 500") && !strings.Contains(text, "Allowed memory size")
}

// checkDeployed compares a deployed bridge with this program's.
func checkDeployed(all *findings, where string, p Pool) {
	for _, file := range p.PHP.Files {
		if file.Path != p.Opts.BridgePath {
			continue
		}
		sum := sha1.Sum(phpclient.Bridge) //nolint:gosec // as above
		switch {
		case file.Error != "":
			all.say("bridge-unreadable", where, "bridge_path = %q: %s %s", file.Path, file.Error, file.Why)
		case file.SHA1 != "" && file.SHA1 != hex.EncodeToString(sum[:]):
			all.say("bridge-old", where, "bridge_path = %q is not the bridge of this version", file.Path)
		}
	}
}
