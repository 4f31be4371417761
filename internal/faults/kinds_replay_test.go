package faults

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// replayKilled runs `sidecar replay` and kills it somewhere on its way. What it replays fails again, so that there is
// always something in dead, and in the end all of it is there once.
func replayKilled() kind {
	return kind{
		name: "replay-kill", about: "`sidecar replay` killed in the middle", harmless: true, strike: killReplay,
	}
}

func killReplay(ctx context.Context, s *shop) error {
	for _, topic := range topics {
		cmd := exec.CommandContext(ctx, binary, "replay", "-c", s.any().config, "--limit", "1000", topic, "--undo-dir", s.dir)
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		// From before its first call until after its last.
		linger(ctx, time.Duration(5_000+s.rng.IntN(60_000))*time.Microsecond)
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	}
	return nil
}
