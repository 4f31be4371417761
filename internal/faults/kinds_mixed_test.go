package faults

import "context"

// mixture strikes with all kinds that need no shop of their own, at random.
func mixture(all []kind) kind {
	var mixed []kind
	for _, k := range all {
		if !k.alone && !k.forgets && !k.proxied && len(k.redis) == 0 && k.prepare == nil {
			mixed = append(mixed, k)
		}
	}
	return kind{
		name: "mixed", about: "all kinds that mix, at random",
		harmless: true, // by itself: what it picks explains itself
		strike: func(ctx context.Context, s *shop) error {
			k := mixed[s.rng.IntN(len(mixed))]
			over := s.markWhole(k)
			err := k.strike(ctx, s)
			over()
			return err
		},
	}
}
