package faults

import (
	"context"
	"slices"

	"sidecar/internal/testenv"
)

// kind is one kind of fault: what is done to a running shop again and again while its jobs run.
type kind struct {
	name  string // "redis-restart-aof": in the report and on the command line (FAULTS_KINDS=regexp)
	about string // one line for the report

	redis   []string           // lines of redis.conf beyond `appendonly yes`, `appendfsync always`
	fpm     testenv.FPMOptions // beyond the number of children
	proxied bool               // the sidecars reach Redis through s.proxy, the old consumer and the producer directly
	prepare func(s *shop)      // before the sidecars start

	// strike does the fault once, and has taken it back when it returns. What it does to whom it tells with s.mark,
	// as exactly as it can: only that explains a job that was done twice. Without a mark, all that ran meanwhile is
	// taken to be hit, as by a Redis that is away.
	strike func(ctx context.Context, s *shop) error

	forgets  bool   // Redis itself forgets: what s.forgot was told of and nobody ran is told apart, not counted as lost
	oldLoses string // why the old scripts themselves lose jobs without a trace in the ledger; "" if they do not
	harmless bool   // it explains no double: nobody may notice it
	slow     bool   // a strike takes many seconds: the short form makes one
	alone    bool   // not for the mixture: it needs the shop to be set up for it, or the others to keep still
}

// kinds are all kinds of faults, the mixture of them last.
func kinds() []kind {
	all := slices.Concat(kindsOfProcess(), kindsOfStep(), kindsOfRedis())
	return append(all, mixture(all))
}
