package faults

import (
	"context"
	"fmt"
	"sync"
)

// job is one that was written, and what must become of it.
type job struct {
	topic, fate string
	sure        bool // Redis said that it has it; else it may have been lost on the way there, which is no loss
}

// producer writes jobs as PHP shops do.
type producer struct {
	s *shop

	mu      sync.Mutex
	written map[string]job // guarded by mu, by uuid
}

var _ = fmt.Sprint
var _ context.Context
