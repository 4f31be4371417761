package testenv_test

import (
	"testing"

	"sidecar/internal/testenv"
)

func TestRedisKeepsItsDataOverARestart(t *testing.T) {
	s := testenv.Redis(t, "appendonly yes")
	rdb := s.Client()
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	if got := s.Client().Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("after a restart k = %q, want v", got)
	}
}

func TestRedisStartsAgainAfterAKill(t *testing.T) {
	s := testenv.Redis(t)
	before := s.Pid()
	s.Kill()
	if err := s.Client().Ping(t.Context()).Err(); err == nil {
		t.Error("a killed server answers")
	}
	s.Start()
	if err := s.Client().Ping(t.Context()).Err(); err != nil || s.Pid() == before {
		t.Errorf("after a start: ping %v, pid %d as before %d", err, s.Pid(), before)
	}
}

func TestPausedRedisAnswersOnceItGoesOn(t *testing.T) {
	s := testenv.Redis(t)
	resume := s.Pause()
	resume()
	if err := s.Client().Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	if s.Used(t.Context()) == 0 {
		t.Error("Used = 0")
	}
}
