package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// kindsOfRedis are the faults of the server itself, and those of the way to it. They explain a double only where Redis
// was away for so long that a lease may have ended.
func kindsOfRedis() []kind {
	kinds := append([]kind{
		{
			name: "redis-restart-term", about: "redis-server restarted by TERM, with its AOF",
			strike: func(ctx context.Context, s *shop) error { return s.restartRedis(ctx, syscall.SIGTERM) },
		},
		{
			name: "redis-restart-kill", about: "redis-server killed and started again, with its AOF",
			strike: func(ctx context.Context, s *shop) error { return s.restartRedis(ctx, syscall.SIGKILL) },
		},
		{
			name: "redis-empty", about: "redis-server killed and started again with no data and no scripts", forgets: true,
			strike: emptyRedis,
		},
		{
			name: "redis-script-flush", about: "SCRIPT FLUSH",
			strike: func(ctx context.Context, s *shop) error {
				return errors.Join(s.answers(ctx), s.rdb.ScriptFlush(ctx).Err())
			},
		},
		{
			name: "redis-client-kill", about: "CLIENT KILL of every connection", strike: killClients("normal", "pubsub"),
			oldLoses: "its connection is lost between ZREM and the command that adds",
		},
		{
			name: "redis-client-kill-tracking", about: "CLIENT KILL of the connections that hear of changes", strike: killClients("pubsub"),
		},
		{
			name: "redis-oom", about: "maxmemory with noeviction", strike: fillRedis,
			oldLoses: "its ZREM is done and the command that adds is refused",
		},
		{
			name: "redis-misconf", about: "BGSAVE fails, so no writes are taken", redis: []string{"save 3600 1000000"}, strike: failSaving, alone: true,
		},
		{
			name: "redis-readonly", about: "the server becomes a replica, and a master again", strike: demoteRedis,
			oldLoses: "its ZREM is done and the command that adds is refused",
		},
		{
			name: "redis-loading", about: "a restart that reads its data for long", strike: loadSlowly, alone: true,
			redis: []string{"key-load-delay 500", "loading-process-events-interval-bytes 1024"},
		},
		{
			name: "redis-busy", about: "a script of somebody else runs for too long", redis: []string{"lua-time-limit 20"}, strike: keepBusy, alone: true,
			oldLoses: "its ZREM is done and the command that adds is refused",
		},
		{
			name: "redis-slow", about: "redis-server stands still (SIGSTOP)", strike: freezeRedis,
		},
	}, kindsOfWire()...)
	for i := range kinds {
		kinds[i].harmless = true // but for what outage marks
	}
	return kinds
}

func (s *shop) restartRedis(ctx context.Context, sig syscall.Signal) error {
	defer s.outage()()
	if sig == syscall.SIGTERM {
		s.redis.Stop()
	} else {
		s.redis.Kill()
	}
	linger(ctx, s.away()/4)
	s.redis.Start()
	return nil
}

// emptyRedis notes what there is and forgets it in one step, and kills the server then.
func emptyRedis(ctx context.Context, s *shop) error {
	if err := s.answers(ctx); err != nil {
		return err
	}
	defer s.outage()()
	pipe := s.rdb.TxPipeline()
	var all []found
	for _, topic := range topics {
		all = append(all, keysOf(topic).find(ctx, pipe))
	}
	pipe.FlushAll(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for _, f := range all {
		left, err := f.left()
		dead, err2 := f.buried()
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		s.forgot(left...)
		s.forgot(dead...)
	}
	s.redis.Kill()
	linger(ctx, s.away()/4)
	s.redis.Start()
	return nil
}

// killClients closes the connections of these types, but for the one that asks.
func killClients(types ...string) func(context.Context, *shop) error {
	return func(ctx context.Context, s *shop) error {
		if err := s.answers(ctx); err != nil {
			return err
		}
		defer s.outage()()
		for range 1 + s.rng.IntN(5) {
			for _, kind := range types {
				if err := s.rdb.Do(ctx, "CLIENT", "KILL", "TYPE", kind).Err(); err != nil {
					return err
				}
			}
			linger(ctx, time.Duration(s.rng.IntN(30))*time.Millisecond)
		}
		return nil
	}
}

func fillRedis(ctx context.Context, s *shop) error {
	if err := s.answers(ctx); err != nil {
		return err
	}
	defer s.outage()()
	if err := s.rdb.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil { // its policy is noeviction unless it is told another
		return err
	}
	linger(ctx, s.away())
	return s.rdb.ConfigSet(context.WithoutCancel(ctx), "maxmemory", "0").Err()
}

// failSaving has BGSAVE fail, by a directory that stands where the file is to go: root may write to any directory.
func failSaving(ctx context.Context, s *shop) error {
	if err := s.answers(ctx); err != nil {
		return err
	}
	defer s.outage()()
	inTheWay := filepath.Join(s.redis.Dir, "dump.rdb")
	if err := os.RemoveAll(inTheWay); err != nil {
		return err
	}
	if err := os.Mkdir(inTheWay, 0o755); err != nil {
		return err
	}
	err := s.save(ctx, "err")
	if err == nil {
		linger(ctx, s.away())
	}
	return errors.Join(err, os.Remove(inTheWay), s.save(context.WithoutCancel(ctx), "ok"))
}

// save saves in the background until that has gone as wanted.
func (s *shop) save(ctx context.Context, want string) error {
	for range 200 {
		info, err := s.rdb.InfoMap(ctx, "persistence").Result()
		if err != nil {
			return err
		}
		state := info["Persistence"]
		if state["rdb_bgsave_in_progress"] == "0" && state["rdb_last_bgsave_status"] == want {
			return nil
		}
		if state["rdb_bgsave_in_progress"] == "0" && state["aof_rewrite_in_progress"] == "0" {
			if err := s.rdb.BgSave(ctx).Err(); err != nil {
				return err
			}
		}
		linger(ctx, 10*time.Millisecond)
	}
	return fmt.Errorf("BGSAVE did not get to %q", want)
}

// demoteRedis makes the server the replica of nobody who lives: it answers reads and refuses writes.
func demoteRedis(ctx context.Context, s *shop) error {
	if err := s.answers(ctx); err != nil {
		return err
	}
	defer s.outage()()
	if err := s.rdb.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
		return err
	}
	linger(ctx, s.away())
	return s.rdb.Do(context.WithoutCancel(ctx), "REPLICAOF", "NO", "ONE").Err()
}

// loadSlowly restarts the server, which by its configuration waits at every command that it reads, and ends that waiting.
func loadSlowly(ctx context.Context, s *shop) error {
	defer s.outage()()
	length := s.away()
	s.redis.Kill()
	loaded := make(chan error, 1)
	go func() {
		linger(ctx, length)
		for {
			err := s.rdb.ConfigSet(context.WithoutCancel(ctx), "key-load-delay", "0").Err()
			if err == nil || strings.HasPrefix(err.Error(), "ERR") {
				loaded <- err
				return
			}
			linger(context.WithoutCancel(ctx), 10*time.Millisecond)
		}
	}()
	s.redis.Start()
	return <-loaded
}

// keepBusy has a script of nobody's run until it is killed.
func keepBusy(ctx context.Context, s *shop) error {
	if err := s.answers(ctx); err != nil {
		return err
	}
	defer s.outage()()
	endless := s.redis.Client()
	ended := make(chan error, 1)
	go func() { ended <- endless.Eval(ctx, "while true do end", nil).Err() }()
	linger(ctx, s.away())
	for {
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "SCRIPT KILL") {
				return fmt.Errorf("the endless script: %w", err)
			}
			return endless.Close()
		default:
			_ = s.rdb.ScriptKill(context.WithoutCancel(ctx)).Err() // answered once the script has run for its limit
			linger(context.WithoutCancel(ctx), 5*time.Millisecond)
		}
	}
}

// freezeRedis has the server stand still: nobody is told, and what was sent is answered late.
func freezeRedis(ctx context.Context, s *shop) error {
	defer s.outage()()
	length := s.away()
	if long() {
		length = 4*time.Second + time.Duration(s.rng.IntN(2000))*time.Millisecond // about the client's patience, above a lease
	}
	resume := s.redis.Pause()
	defer resume()
	linger(ctx, length)
	return nil
}

// long reports that the harness runs for longer than CI lets it.
func long() bool { return os.Getenv("FAULTS_JOBS") != "" }
