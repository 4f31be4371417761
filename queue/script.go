package queue

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1; nothing is protected by it
	_ "embed"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

// One script, one verb, one method of Store. What each needs and returns is written on top of its file.
var (
	//go:embed lua/promote.lua
	promoteLua string
	//go:embed lua/claim.lua
	claimLua string
	//go:embed lua/renew.lua
	renewLua string
	//go:embed lua/complete.lua
	completeLua string
	//go:embed lua/completerows.lua
	completeRowsLua string
	//go:embed lua/requeue.lua
	requeueLua string
	//go:embed lua/bury.lua
	buryLua string
	//go:embed lua/expired.lua
	expiredLua string
	//go:embed lua/replay.lua
	replayLua string
	//go:embed lua/setaside.lua
	setAsideLua string
	//go:embed lua/push.lua
	pushLua string
	//go:embed lua/spool.lua
	spoolLua string
	//go:embed lua/depths.lua
	depthsLua string
	//go:embed lua/peek.lua
	peekLua string
	//go:embed lua/audit.lua
	auditLua string
	//go:embed lua/takedead.lua
	takeDeadLua string
	//go:embed lua/restore.lua
	restoreLua string
	//go:embed lua/runnow.lua
	runNowLua string
	//go:embed lua/retime.lua
	retimeLua string
	//go:embed lua/untime.lua
	untimeLua string
	//go:embed lua/preflight.lua
	preflightLua string
	//go:embed lua/claimlist.lua
	claimListLua string
	//go:embed lua/promotelist.lua
	promoteListLua string
	//go:embed lua/requeuelist.lua
	requeueListLua string
	//go:embed lua/burylist.lua
	buryListLua string
	//go:embed lua/pushlist.lua
	pushListLua string
	//go:embed lua/replaylist.lua
	replayListLua string
	//go:embed lua/takeacks.lua
	takeAcksLua string
	//go:embed lua/dropacks.lua
	dropAcksLua string
	//go:embed lua/keepacks.lua
	keepAcksLua string
	//go:embed lua/paused.lua
	pausedLua string
	//go:embed lua/pause.lua
	pauseLua string
	//go:embed lua/swapfield.lua
	swapFieldLua string
	//go:embed lua/beat.lua
	beatLua string

	promoteScript      = newScript(promoteLua)
	claimScript        = newScript(claimLua)
	renewScript        = newScript(renewLua)
	completeScript     = newScript(completeLua)
	completeRowsScript = newScript(completeRowsLua)
	requeueScript      = newScript(requeueLua)
	buryScript         = newScript(buryLua)
	expiredScript      = newScript(expiredLua)
	replayScript       = newScript(replayLua)
	setAsideScript     = newScript(setAsideLua)
	pushScript         = newScript(pushLua)
	spoolScript        = newScript(spoolLua)
	depthsScript       = newScript(depthsLua)
	peekScript         = newScript(peekLua)
	auditScript        = newScript(auditLua)
	takeDeadScript     = newScript(takeDeadLua)
	restoreScript      = newScript(restoreLua)
	runNowScript       = newScript(runNowLua)
	retimeScript       = newScript(retimeLua)
	untimeScript       = newScript(untimeLua)
	preflightScript    = newScript(preflightLua)
	claimListScript    = newScript(claimListLua)
	promoteListScript  = newScript(promoteListLua)
	requeueListScript  = newScript(requeueListLua)
	buryListScript     = newScript(buryListLua)
	pushListScript     = newScript(pushListLua)
	replayListScript   = newScript(replayListLua)
	takeAcksScript     = newScript(takeAcksLua)
	dropAcksScript     = newScript(dropAcksLua)
	keepAcksScript     = newScript(keepAcksLua)
	pausedScript       = newScript(pausedLua)
	pauseScript        = newScript(pauseLua)
	swapFieldScript    = newScript(swapFieldLua)
	beatScript         = newScript(beatLua)
)

// script is a Lua script and the name Redis's cache has for it.
type script struct {
	source string
	sha    string
}

func newScript(source string) script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // as above
	return script{source: source, sha: hex.EncodeToString(sum[:])}
}

// run runs the script once and returns its reply. A script that moves jobs must not run twice because a reply was
// lost, so nothing is repeated but what certainly did not run: after NOSCRIPT (a restart, SCRIPT
// FLUSH), and in a Cluster after a redirection.
func (s script) run(ctx context.Context, rdb redis.UniversalClient, keys []string, args ...any) (any, error) {
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		return s.runInCluster(ctx, cluster, keys, args)
	}
	return s.eval(ctx, rdb, keys, args)
}

// node is one server, or the client that stands for it.
type node interface {
	redis.Scripter
	Do(ctx context.Context, args ...any) *redis.Cmd
}

func (s script) eval(ctx context.Context, n node, keys []string, args []any) (any, error) {
	reply, err := n.EvalSha(ctx, s.sha, keys, args...).Result()
	if FaultOf(err) == NoScript {
		reply, err = n.Eval(ctx, s.source, keys, args...).Result()
	}
	if FaultOf(err) == ReadOnly && !redis.HasErrorPrefix(err, "READONLY") {
		// Before Redis 7 the error of a script hides this word, and only to it the client gives up its
		// connection to a server that was demoted. A plain write that writes nothing brings it out.
		_ = n.Do(ctx, "ZREMRANGEBYRANK", keys[0], 1, 0).Err()
	}
	return reply, err
}
