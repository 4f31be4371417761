package dash_test

import (
	"testing"

	"sidecar/internal/dash"
)

func TestATopicWhoseWorkersAreAllBusySaysHowLongTheyNeed(t *testing.T) {
	busy := dash.Topic{
		Workers: 2, Sidecars: 3, Depths: dash.Depths{Running: 6, Due: 100, Ready: 200}, Recent: dash.Recent{P50: .9},
	}
	if b := busy.AllBusy(); b == nil || b.Workers != 6 || b.Run != .9 || b.Needs != 45 {
		t.Errorf("%+v, want six workers that need 45 s", b)
	}
	for name, change := range map[string]func(*dash.Topic){
		"one is free":    func(t *dash.Topic) { t.Depths.Running = 5 },
		"nothing waits":  func(t *dash.Topic) { t.Depths.Due, t.Depths.Ready = 0, 0 },
		"nobody has it":  func(t *dash.Topic) { t.Sidecars = 0 },
		"its rate holds": func(t *dash.Topic) { t.State.Throttled = "10/s" },
		"it is paused":   func(t *dash.Topic) { t.State.Paused = &dash.Paused{} },
		"its gate":       func(t *dash.Topic) { t.State.Shut = []string{"no such file"} },
	} {
		topic := busy
		change(&topic)
		if b := topic.AllBusy(); b != nil {
			t.Errorf("%s: %+v", name, b)
		}
	}
	busy.Recent.P50 = 0
	if b := busy.AllBusy(); b == nil || b.Needs != 0 {
		t.Errorf("without a run that is known: %+v", b)
	}
}
