package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
)

var (
	// ErrNoScripting reports a server that runs no scripts. Nothing can be moved on it.
	ErrNoScripting = errors.New("the server runs no Lua scripts (EVAL): the sidecar needs them")

	// ErrTooOld reports a server before Redis 3.2, whose scripts may not read the clock and write.
	ErrTooOld = errors.New("the server is too old: want Redis 3.2 or newer")
)

// CheckServer finds out whether Redis can do what the sidecar needs, before any job is claimed. Faults that only
// an operator can mend are ErrNoScripting and ErrTooOld. What is merely dangerous comes back as warnings. It changes
// nothing. A server that cannot answer now (Network, Loading, …: see FaultOf) is an error, too; try again.
// What a user may do with a topic's keys is for [Store.Check] to find out.
func CheckServer(ctx context.Context, rdb redis.UniversalClient, prefix string, topics []Options) (warnings []string, err error) {
	dangers, err := Dangers(ctx, rdb)
	if err != nil {
		return nil, err
	}
	if none := absent(ctx, rdb, prefix, topics); len(none) > 0 {
		seen, _ := seeKeys(ctx, rdb, prefix, none, none)
		dangers = append(dangers, seen.Dangers()...)
	}
	for _, d := range dangers {
		warnings = append(warnings, d.Text)
	}
	return warnings, nil
}

// Dangers is CheckServer for those who want to know of what kind each warning is. What keys have to do with is for
// [KeysSeen.Dangers].
func Dangers(ctx context.Context, rdb redis.UniversalClient) (all []Danger, err error) {
	nodes, err := servers(ctx, rdb)
	if err != nil {
		return nil, hint(rdb, err)
	}
	_, cluster := rdb.(*redis.ClusterClient)
	for _, node := range nodes {
		found, err := checkNode(ctx, node, cluster)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			d.Node = named(node, len(nodes) > 1)
			if d.Node != "" {
				d.Text = d.Node + ": " + d.Text
			}
			all = append(all, d)
		}
	}
	return all, nil
}

// checkNode is Dangers for one server, which is to be a node of a Cluster or not.
func checkNode(ctx context.Context, node redis.UniversalClient, cluster bool) (found []Danger, err error) {
	scripting, err := canScript(ctx, node)
	if err != nil && !errors.Is(err, ErrNoScripting) {
		return nil, hint(node, err)
	}
	info := serverInfo(ctx, node)
	switch {
	case err != nil && info["redis_mode"] == "sentinel":
		return nil, fmt.Errorf("%w: it is a Sentinel: want its address in addrs, and sentinel = the name of its master", ErrNoScripting)
	case err != nil:
		return nil, err
	}
	if err := checkVersion(info["redis_version"], scripting); err != nil {
		return nil, err
	}
	if info["cluster_enabled"] == "1" && !cluster {
		found = append(found, Danger{Kind: NodeOfCluster, Text: "redis is a node of a Cluster: " + clusterHint})
	}
	found = append(found, roleDangers(info)...)
	found = append(found, evictionDangers(ctx, node, info)...)
	return append(found, skewDangers(ctx, node)...), nil
}

// named returns the address of one of several servers.
func named(node redis.UniversalClient, several bool) string {
	if single, ok := node.(*redis.Client); ok && several {
		return single.Options().Addr
	}
	return ""
}

// canScript runs a script that does nothing and reports whether scripts may write after they have read the clock.
func canScript(ctx context.Context, rdb redis.UniversalClient) (replicates bool, err error) {
	n, err := rdb.Eval(ctx, "return redis.replicate_commands and 1 or 0", nil).Int()
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "unknown command") {
		return false, fmt.Errorf("%w: %w", ErrNoScripting, err)
	}
	return n == 1, err
}

// serverInfo reads INFO; it is empty when this user may not.
func serverInfo(ctx context.Context, rdb redis.UniversalClient) map[string]string {
	text := rdb.Info(ctx).Val()
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// checkVersion refuses servers before 3.2. A compatible server that does not say its version is judged by what its
// scripts can do.
func checkVersion(version string, replicates bool) error {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		if !replicates {
			return ErrTooOld
		}
		return nil
	}
	major, _ := strconv.Atoi(parts[0])
	minor, _ := strconv.Atoi(parts[1])
	if major < 3 || major == 3 && minor < 2 {
		return fmt.Errorf("%w, found %s", ErrTooOld, version)
	}
	return nil
}

// Check finds out whether Redis lets this user do all that the topic's scripts do, and names each command and
// key that it refuses. It changes nothing.
func (s *Store) Check(ctx context.Context) error {
	for _, ready := range s.keys.ready {
		keys := []string{s.keys.pool, ready, s.keys.running, s.keys.dead}
		if s.marks() && s.opts.List == nil {
			keys = append(keys, s.keys.mark(checkUUID))
		}
		if s.opts.List != nil {
			keys = append(keys, s.keys.reasons)
		}
		if err := s.checkKeys(ctx, keys); err != nil {
			return err
		}
	}
	return s.checkAcks(ctx)
}

// checkUUID is that of no job.
const checkUUID = "sidecar-check"

// checkKeys is Check for keys that one script may touch.
func (s *Store) checkKeys(ctx context.Context, keys []string) error {
	refused, err := s.list(ctx, "check", 0, preflightScript, keys, flag(s.opts.List != nil))
	if err != nil {
		if FaultOf(err) == NoPerm {
			return fmt.Errorf("topic %s: this user may not run EVAL and EVALSHA on %s: %w", s.opts.Topic, strings.Join(keys, ", "), err)
		}
		return hint(s.rdb, err)
	}
	if len(refused) == 0 {
		return nil
	}
	names := make([]string, len(refused))
	for i := range refused {
		names[i] = refused.text(i)
	}
	return fmt.Errorf("topic %s: this user may not run %s: grant the commands with ACL SETUSER", s.opts.Topic, strings.Join(names, ", "))
}

// checkAcks is Check for acks: it takes one that no job has, keeps it young, and drops it again. Redis does not always
// say which command of a script it refuses.
func (s *Store) checkAcks(ctx context.Context) error {
	ack := Ack{UUID: checkUUID, Text: compat.JoinClaim(0, checkUUID, "")}
	commands := "get, pttl or set"
	_, err := s.TakeAcks(ctx, []Ack{ack})
	if err == nil {
		commands = "get or expire"
		err = s.keepAcks(ctx, []Renewal{{Text: ack.Text, UUID: ack.UUID}}, []bool{false})
	}
	if err == nil {
		commands = "get or del"
		err = s.dropAcks(ctx, []Ack{ack})
	}
	if FaultOf(err) == NoPerm {
		return fmt.Errorf("topic %s: this user may not run %s on %s: grant it with ACL SETUSER: %w", s.opts.Topic, commands, s.keys.mark(checkUUID), err)
	}
	return err
}

// clusterHint mends a configuration that takes a Cluster's node for a server that stands alone.
const clusterHint = "want cluster = true with its nodes in addrs, and a hash tag in each topic, as in {order_timeout}"

// hint adds to an error what usually mends it.
func hint(rdb redis.UniversalClient, err error) error {
	_, cluster := rdb.(*redis.ClusterClient)
	switch {
	case err == nil:
		return nil
	case redis.HasErrorPrefix(err, "CROSSSLOT"):
		return fmt.Errorf("%w: the topic's keys lie on several nodes of a Cluster: %s", err, clusterHint)
	case redis.HasErrorPrefix(err, "MOVED") && !cluster:
		return fmt.Errorf("%w: the server is a node of a Cluster: %s", err, clusterHint)
	case strings.Contains(err.Error(), "sentinels") && strings.Contains(err.Error(), redis.Nil.Error()): // so the client library says it
		return fmt.Errorf("%w: the Sentinels answer, and know no master of that name: see sentinel in [redis]", err)
	case strings.Contains(err.Error(), "cluster support disabled"):
		return fmt.Errorf("%w: cluster = true wants the nodes of a Cluster in addrs, and this server stands alone", err)
	}
	switch FaultOf(err) { //nolint:exhaustive // the others speak for themselves
	case NoAuth:
		if strings.Contains(err.Error(), "wrong number of arguments") {
			return fmt.Errorf("%w: a server before Redis 6 knows no users, leave username empty", err)
		}
		if strings.Contains(err.Error(), "sentinels") { // the client library's word for where it was refused
			return fmt.Errorf("%w: see sentinel_username and sentinel_password_file", err)
		}
		return fmt.Errorf("%w: see username and password_file", err)
	case Network:
		if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
			return err // nobody answers there, in whatever protocol
		}
		return fmt.Errorf("%w; behind a proxy try protocol = 2", err)
	}
	return err
}
