package queue

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Fault says why Redis did not do what it was asked. None of them loses a job and none ends the process:
// all are waited out (DESIGN 8).
type Fault int

// The faults. They start at 1; 0 is no fault.
const (
	// NoScript: the script is not in Redis's cache (any more). It did not run.
	NoScript Fault = iota + 1
	// ReadOnly: the server is a replica, mostly since a failover.
	ReadOnly
	// Loading: the server has just started and reads its data.
	Loading
	// MisConf: the server cannot save to disk and takes no writes.
	MisConf
	// OOM: the server is at maxmemory.
	OOM
	// Busy: a script of somebody else has run for too long and goes on.
	Busy
	// Moved: the slot is on another node of the Cluster (MOVED, ASK).
	Moved
	// TryAgain: the slot's keys are on their way to another node.
	TryAgain
	// ClusterDown: the Cluster does not serve the slot, or its replicas or its master are missing.
	ClusterDown
	// NoPerm: the ACL user may not run a command or touch a key.
	NoPerm
	// NoAuth: the password is missing or wrong.
	NoAuth
	// WrongType: a key holds something else than it should.
	WrongType
	// Refused: the server is full of clients, or does not take this one.
	Refused
	// Network: the reply did not arrive. Alone of all, it leaves open whether the script has run.
	Network
	// Stopped: the context ended before the command was sent.
	Stopped
	// Other: an error with none of these names.
	Other
)

// faultNames are the words for logs and metric labels.
var faultNames = [...]string{
	"none", "noscript", "readonly", "loading", "misconf", "oom", "busy", "moved", "tryagain",
	"clusterdown", "noperm", "noauth", "wrongtype", "refused", "network", "stopped", "other",
}

// String returns the fault's name as logs and metric labels spell it.
func (f Fault) String() string {
	if f < 0 || int(f) >= len(faultNames) {
		return "unknown"
	}
	return faultNames[f]
}

// Faults lists every fault, in order.
func Faults() []Fault {
	all := make([]Fault, 0, len(faultNames)-1)
	for f := NoScript; f <= Other; f++ {
		all = append(all, f)
	}
	return all
}

// OfServer reports that the fault is the whole server's, or that of the way to it, and not of one topic's keys.
func (f Fault) OfServer() bool {
	switch f {
	case ReadOnly, Loading, MisConf, OOM, Busy, ClusterDown, NoAuth, Refused, Network:
		return true
	case NoScript, Moved, TryAgain, NoPerm, WrongType, Stopped, Other:
		return false
	}
	return false
}

// faultCodes are the first words of Redis's errors. An old server wraps them when they come up inside a script:
// "ERR Error running script (call to f_…): @user_script:1: WRONGTYPE Operation …".
var faultCodes = []struct {
	code  string
	fault Fault
}{
	{"NOSCRIPT", NoScript},
	{"READONLY", ReadOnly},
	{"LOADING", Loading},
	{"MISCONF", MisConf},
	{"OOM", OOM},
	{"BUSY", Busy},
	{"MOVED", Moved},
	{"ASK", Moved},
	{"TRYAGAIN", TryAgain},
	{"CLUSTERDOWN", ClusterDown},
	{"MASTERDOWN", ClusterDown},
	{"NOREPLICAS", ClusterDown},
	{"NOPERM", NoPerm},
	{"NOAUTH", NoAuth},
	{"WRONGPASS", NoAuth},
	{"WRONGTYPE", WrongType},
	{"DENIED", Refused},
}

// faultTexts know errors that have no code of their own.
var faultTexts = []struct {
	text  string
	fault Fault
}{
	{"ACL failure in script", NoPerm},
	{"can't run this command", NoPerm},
	{"can't write against a read only", ReadOnly},
	{"command not allowed when used memory", OOM},
	{"max number of clients reached", Refused},
	{"invalid password", NoAuth},
	{"Client sent AUTH, but no password is set", NoAuth},
	{"wrong number of arguments for 'auth'", NoAuth},
}

// FaultOf returns what err means, plain or wrapped in an error of a script; 0 when err is nil.
func FaultOf(err error) Fault {
	if err == nil {
		return 0
	}
	if errors.Is(err, errTryAgain) {
		return TryAgain
	}
	var reply redis.Error
	if errors.As(err, &reply) && !errors.Is(err, redis.Nil) { // Nil is an answer, to a question of the client's own
		return faultOfReply(reply.Error())
	}
	return faultBelow(err)
}

// faultOfReply reads the error text of a server. The first word decides; only then is the rest looked at, for
// the code a script error carries inside.
func faultOfReply(text string) Fault {
	code, rest, _ := strings.Cut(text, " ")
	for _, known := range faultCodes {
		if code == known.code {
			return known.fault
		}
	}
	for _, known := range faultTexts {
		if strings.Contains(rest, known.text) {
			return known.fault
		}
	}
	if !strings.Contains(rest, "script") {
		return Other
	}
	for word := range strings.FieldsSeq(rest) {
		word = strings.Trim(word, "-:")
		for _, known := range faultCodes {
			if word == known.code {
				return known.fault
			}
		}
	}
	return Other
}

// faultBelow tells apart the errors that are no replies.
func faultBelow(err error) Fault {
	var network net.Error
	var refused refusedError
	switch {
	case errors.As(err, &refused):
		return Refused
	case errors.Is(err, context.Canceled):
		return Stopped
	case errors.As(err, &network),
		errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed),
		errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, redis.ErrClosed),
		errors.Is(err, redis.ErrPoolTimeout),
		errors.Is(err, redis.ErrPoolExhausted):
		return Network
	}
	if text := err.Error(); strings.Contains(text, "sentinel") || strings.Contains(text, "cluster") {
		return ClusterDown // the client found no master, or no node at all
	}
	return Other
}
