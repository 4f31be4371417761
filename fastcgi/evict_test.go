package fastcgi

import (
	"slices"
	"testing"
	"time"
)

// Who has to give up a slot for another topic.
func TestSlotsAreTakenFromTheRichAndTheIdle(t *testing.T) {
	type has struct{ weight, used, spare, giveUp int }
	for name, tt := range map[string]struct {
		poor   has
		others []has
		fresh  bool // they have got their slots just now
		want   int  // which of the others; -1: none
	}{
		"from the richest":                 {has{1, 0, 0, 0}, []has{{1, 1, 0, 0}, {1, 3, 0, 0}}, true, 1},
		"by weight":                        {has{1, 0, 0, 0}, []has{{3, 3, 0, 0}, {1, 2, 0, 0}}, true, 1},
		"from an idle one before the rich": {has{1, 0, 0, 0}, []has{{1, 1, 1, 0}, {1, 3, 0, 0}}, true, 0},
		"even if it is poorer":             {has{1, 3, 0, 0}, []has{{1, 1, 1, 0}}, true, 0},
		"not if it would be richer then":   {has{1, 1, 0, 0}, []has{{3, 3, 0, 0}}, false, -1},
		"an equal keeps it for a moment":   {has{1, 0, 0, 0}, []has{{1, 1, 0, 0}}, true, -1},
		"and then takes turns":             {has{1, 0, 0, 0}, []has{{1, 1, 0, 0}}, false, 0},
		"not twice the same":               {has{1, 0, 0, 0}, []has{{1, 1, 0, 1}}, false, -1},
	} {
		t.Run(name, func(t *testing.T) {
			options := []TopicOptions{{Topic: "poor", Weight: tt.poor.weight, Mode: ModeWorker}}
			for _, o := range tt.others {
				options = append(options, TopicOptions{Topic: "other", Weight: o.weight, Mode: ModeWorker})
			}
			p, topics := openPoolWith(8, options...)
			for i, h := range append([]has{tt.poor}, tt.others...) {
				topics[i].used, topics[i].giveUp = h.used, h.giveUp
				if tt.fresh {
					topics[i].granted = time.Now()
				}
				topics[i].spare.Store(int32(h.spare))
			}
			got := slices.Index(topics, p.richest(&waiter{topic: topics[0], most: 1})) - 1
			if got < 0 {
				got = -1
			}
			if got != tt.want {
				t.Errorf("from %d, want %d", got, tt.want)
			}
		})
	}
}
