package cli_test

import (
	"encoding/json"
	"testing"
)

func TestFindSaysWhoDroppedOrReplayedAJobThatIsNowhere(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	s.dead("u1", "x", "2026-11-29 12:00:00")
	s.verb(0, nil, "dead", "drop", "order_timeout", "--uuid", "u1", "--undo-dir", dir)
	file := undoFile(t, dir)
	s.verb(1, []string{"u1 is nowhere", "dead of mail, order_timeout, send_sms; it was dropped by cli ", " at 20", ": sidecar dead undo " + file, "takes that back"}, "find", "u1")
	s.verb(1, []string{"u1 is nowhere", "or never came here"}, "find", "u1", "mail") // it was dropped from another

	s.verb(0, nil, "dead", "undo", file)
	s.verb(0, nil, "dead", "replay", "order_timeout", "--uuid", "u1", "--undo-dir", t.TempDir())
	s.do("DEL", timeoutPool) // it has run
	s.verb(1, []string{"it was replayed by cli ", ", and most likely has run since"}, "find", "u1")
	var got struct {
		ByHand []struct{ Verb, At, By, UUID, File string } `json:"by_hand"`
	}
	text := s.verb(1, nil, "find", "u1", "--json")
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.ByHand) != 3 || got.ByHand[1].Verb != "undo" || got.ByHand[2].File != file {
		t.Errorf("%v in %s", err, text)
	}
}

func TestFindNamesTheDropsOfSeveralThatAJobMayHaveBeenAmong(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	s.dead("u1", "x", "2026-11-29 12:00:00")
	s.dead("u2", "x", "2026-11-29 12:00:00")
	s.verb(0, nil, "dead", "drop", "order_timeout", "--error", "x", "--undo-dir", dir)
	s.verb(1, []string{
		"or never came here\n", "it may be among the 2 jobs of order_timeout that cli ", " dropped at 20", ": grep -c u1 " + undoFile(t, dir),
	}, "find", "u1")
}
