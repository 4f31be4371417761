package app

import (
	"github.com/redis/go-redis/v9"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/internal/spool"
	phpclient "sidecar/php-client"
	"sidecar/queue"
)

// NewSpool returns the spool that o describes, whose table a PHP-FPM pool opens and whose jobs go to rdb. The pool has to run.
func NewSpool(cfg *config.Config, o spool.Options, pool *fastcgi.Pool, rdb redis.UniversalClient) (*spool.Table, *spool.Drainer) {
	aide := pool.NewAide("spool", spool.Parameter, phpclient.Spool)
	table := spool.NewTable(o, aide)
	return table, spool.NewDrainer(o, table, queue.NewInlet(rdb, cfg.Redis.KeyPrefix), cfg.PoolUnits())
}

// newSpools returns the spools that the sidecar is to drain by itself.
func (a *app) newSpools(g *generation) (runners []*spool.Runner) {
	for _, o := range g.cfg.Spools {
		if o.Every == 0 {
			continue
		}
		a.spool.Add(o.Name)
		a.spools.add(o.Name)
		_, drainer := NewSpool(g.cfg, o, g.pools[o.Pool].Pool, g.rdb)
		runners = append(runners, spool.NewRunner(o, drainer, a.spool, a.log))
	}
	return runners
}

// retireSpools forgets the spools of g that no other generation has.
func (a *app) retireSpools(g *generation) {
	for _, o := range g.cfg.Spools {
		if o.Every > 0 {
			a.spools.leave(o.Name)
		}
	}
}
