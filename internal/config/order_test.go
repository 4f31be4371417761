package config_test

import "testing"

// Claims ahead of a resident worker are quick and in no order; where the order is the point there are none.
func TestAListThatOneWorkerRunsIsClaimedJobByJob(t *testing.T) {
	for name, tt := range map[string]struct {
		file string
		want int
	}{
		"a list with one worker":  {oneList + "mode = \"worker\"\nworkers = 1\n", 0},
		"a list with two":         {oneList + "mode = \"worker\"\nworkers = 2\n", 64},
		"a list without a number": {oneList + "mode = \"worker\"\n", 64},
		"a list of requests":      {oneList + "workers = 1\n", 0},
		"a topic with one worker": {"[fpm.default]\nlisten = \"unix:///run/f.sock\"\n[topic.a]\ncall = \"A::run\"\nmode = \"worker\"\nworkers = 1\n", 64},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parse(t, tt.file).Topics[0].Queue.LookAhead; got != tt.want {
				t.Errorf("claims %d ahead of a worker, want %d", got, tt.want)
			}
		})
	}
}
