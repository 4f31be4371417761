package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sidecar/compat"
	"sidecar/internal/spool"
	"sidecar/queue"
)

func spoolFields(o *spool.Options, passwordFile *string) []field {
	return []field{
		{"dsn", text(&o.DSN)},
		{"username", text(&o.Username)},
		{"password_file", text(passwordFile)},
		{"fpm", text(&o.Pool)},
		{"drain_every", duration(&o.Every)},
		{"batch", integer(&o.Batch)},
		{"rate", integer(&o.Rate)},
	}
}

func (b *builder) buildSpools(section *table) {
	for _, name := range slices.Sorted(maps.Keys(section.keys)) {
		t := b.table(fmt.Sprintf("spool %q", name), "a table [spool.<name>]", section.keys[name])
		if t.keys != nil {
			b.cfg.Spools = append(b.cfg.Spools, b.buildSpool(name, t))
		}
	}
}

func (b *builder) buildSpool(name string, t *table) spool.Options {
	o := spool.DefaultOptions()
	o.Name = name
	var passwordFile string
	t.decode(spoolFields(&o, &passwordFile))
	if name == "" || strings.ContainsFunc(name, isControl) {
		t.faults(fmt.Errorf("name: want one, without control characters"))
	}
	if _, ok := b.cfg.FPM[o.Pool]; !ok && len(b.pools) > 0 {
		names := slices.Sorted(maps.Keys(b.pools))
		t.faults(fmt.Errorf("fpm = %q: want one of the pools that [fpm.<name>] defines: %s", o.Pool, strings.Join(names, ", ")))
	}
	if passwordFile != "" {
		o.Password = b.passwordFrom(t, "password_file", passwordFile)
	}
	t.faults(o.Validate())
	return o
}

// PoolUnits returns the units of the pools whose scores are not in milliseconds, by key without the client-side prefix.
func (c *Config) PoolUnits() map[string]queue.ScoreUnit {
	units := make(map[string]queue.ScoreUnit)
	for _, t := range c.Topics {
		if t.Queue.List == nil && t.Queue.ScoreUnit != queue.Milliseconds {
			units[compat.NewDelayKeys("", t.Name).Pool] = t.Queue.ScoreUnit
		}
	}
	return units
}
