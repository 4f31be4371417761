package dash_test

import (
	"slices"
	"testing"
	"time"

	"sidecar/internal/dash"
)

func codes(o dash.Overview) (codes []string) {
	for _, p := range o.Problems() {
		codes = append(codes, p.Code)
	}
	return codes
}

func TestWhatIsWrongIsToldTheGravestFirstAndItsConsequencesAreNot(t *testing.T) {
	well := func() dash.Overview {
		return dash.Overview{
			Now: fakeNow, Redis: dash.Redis{Up: true}, Sidecars: []dash.Sidecar{{Instance: "a", State: dash.SidecarRunning}},
			Pools: []dash.Pool{{Name: "default"}}, Topics: []dash.Topic{{Name: "a", Pool: "default", LateAfter: 60}, {Name: "b", Pool: "default", LateAfter: 60}},
		}
	}
	tests := map[string]struct {
		change func(o *dash.Overview)
		want   []string
	}{
		"nothing":                    {func(*dash.Overview) {}, nil},
		"pool down, its topics shut": {func(o *dash.Overview) { o.Pools[0].Down = "refused"; o.Topics[0].State.Shut = []string{"refused"} }, []string{"pool_down"}},
		"pool takes no job":          {func(o *dash.Overview) { o.Pools[0].Down, o.Pools[0].Full = "FPM's backlog is full", true }, []string{"pool_silent"}},
		"looked at after a reload": {func(o *dash.Overview) {
			o.Topics[0].State.Looking = true
			o.Sidecars[0].State, o.Sidecars[0].Looking = dash.SidecarNotReady, true
		}, nil},
		"script missing":          {func(o *dash.Overview) { o.Topics[0].State.Shut = []string{"no such file"} }, []string{"topics_shut"}},
		"late, and takes a break": {func(o *dash.Overview) { o.Topics[0].State.Breaker = &dash.Breaker{}; o.Topics[0].OldestDue = 61 }, []string{"topics_late", "topics_breaker"}},
		"paused is meant to wait": {func(o *dash.Overview) { o.Topics[0].State.Paused = &dash.Paused{By: "a"}; o.Topics[0].OldestDue = 61 }, []string{"topics_paused"}},
		"so is a pause window": {func(o *dash.Overview) {
			o.Topics[0].State.Paused = &dash.Paused{Window: "02:00-04:00"}
			o.Topics[0].OldestDue = 61
		}, []string{"topics_paused"}},
		"no threshold, never late":  {func(o *dash.Overview) { o.Topics[0].LateAfter = 0; o.Topics[0].OldestDue = 9e9 }, nil},
		"redis away, topics unread": {func(o *dash.Overview) { o.Redis = dash.Redis{}; o.Topics[0].Error = "refused" }, []string{"redis_down"}},
		"one topic unread":          {func(o *dash.Overview) { o.Topics[0].Error = "WRONGTYPE" }, []string{"topics_unknown"}},
		"nobody lives":              {func(o *dash.Overview) { o.Sidecars = nil }, []string{"no_sidecar"}},
		"one of two is gone":        {func(o *dash.Overview) { o.Sidecars = append(o.Sidecars, dash.Sidecar{State: dash.SidecarLost}) }, []string{"sidecar_lost"}},
		"a reload was refused": {func(o *dash.Overview) {
			o.Sidecars[0].Reload = "sidecar.toml:3: unknown key"
			o.Sidecars = append(o.Sidecars, dash.Sidecar{State: dash.SidecarLost, Reload: "x"})
		}, []string{"sidecar_lost", "reload_refused"}},
		"it throws keys away": {func(o *dash.Overview) { o.Redis.UsedBytes, o.Redis.MaxBytes, o.Redis.Policy = 95, 100, "allkeys-lru" }, []string{"redis_evicts"}},
		"a cache is full":     {func(o *dash.Overview) { o.Redis.UsedBytes, o.Redis.MaxBytes, o.Redis.Policy = 95, 100, "volatile-ttl" }, nil},
		"it refuses writes":   {func(o *dash.Overview) { o.Redis.Refuses, o.Redis.MaxBytes = true, 100 }, []string{"redis_refuses"}},
		"what a day remembers": {func(o *dash.Overview) {
			o.Incidents = []dash.Incident{{Kind: "unreadable", Topic: "a"}, {Kind: "unit", Topic: "a"}, {Kind: "lost", Topic: "a", Count: 3}}
			o.Differ = []dash.Difference{{Topic: "a"}}
		}, []string{"jobs_lost", "topics_differ", "topics_unit", "topics_unreadable"}},
		"memory full":        {func(o *dash.Overview) { o.Redis.UsedBytes, o.Redis.MaxBytes = 95, 100 }, []string{"redis_full"}},
		"silenced alarm":     {func(o *dash.Overview) { o.Alarms = []dash.Alarm{{Rule: "a", Muted: true}} }, nil},
		"alarm and starting": {func(o *dash.Overview) { o.Alarms = []dash.Alarm{{Rule: "a"}}; o.Starting = true }, []string{"starting", "alarm"}},
		"breaker, pressure and deaths": {func(o *dash.Overview) {
			s := &o.Topics[1].State
			s.Breaker, s.Backpressure, o.Topics[0].Recent.DeadPerHour = &dash.Breaker{}, true, 3
		}, []string{"topics_breaker", "topics_pressed", "topics_dead"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := well()
			tt.change(&o)
			if got := codes(o); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestLateTopicsAreNamedWithTheOldestFirst(t *testing.T) {
	o := dash.Overview{Redis: dash.Redis{Up: true}, Topics: []dash.Topic{{Name: "a", LateAfter: 1, OldestDue: 5}, {Name: "b", LateAfter: 1, OldestDue: 50}}}
	for _, p := range o.Problems() {
		if p.Code == dash.ProblemLate && (!slices.Equal(p.Names, []string{"b", "a"}) || p.Longest != 50 || !slices.Equal(p.Ages, []dash.Seconds{50, 5})) {
			t.Errorf("got %+v", p)
		}
	}
}

func TestAJobSaysWhyItDoesNotRun(t *testing.T) {
	paused := dash.State{Paused: &dash.Paused{Reason: "x"}, Unconsumed: true}
	tests := map[string]struct {
		job  dash.JobView
		want []string
	}{
		"dead":                 {dash.JobView{Row: dash.JobRow{Key: dash.KeyDead}, State: paused}, []string{"failed"}},
		"dead and unreadable":  {dash.JobView{Row: dash.JobRow{Key: dash.KeyDead, Unread: "no object"}}, []string{"unreadable"}},
		"runs":                 {dash.JobView{Row: dash.JobRow{Key: dash.KeyRunning, Lease: fakeNow.Add(time.Second)}, State: paused}, []string{"runs"}},
		"its sidecar is gone":  {dash.JobView{Row: dash.JobRow{Key: dash.KeyRunning, Lease: ago(time.Second)}, State: dash.State{Unconsumed: true}}, []string{"lease_over", "unconsumed"}},
		"not due":              {dash.JobView{Row: dash.JobRow{Key: dash.KeyPool, Due: fakeNow.Add(time.Hour)}}, []string{"not_due"}},
		"not due, and paused":  {dash.JobView{Row: dash.JobRow{Key: dash.KeyPool, Due: fakeNow.Add(time.Hour)}, State: paused}, []string{"not_due", "unconsumed", "paused"}},
		"waits for a retry":    {dash.JobView{Row: dash.JobRow{Key: dash.KeyPool, Due: fakeNow.Add(time.Hour), Crashes: 1}}, []string{"retry"}},
		"never due":            {dash.JobView{Row: dash.JobRow{Key: dash.KeyPool, Never: true}}, []string{"never"}},
		"due in other units":   {dash.JobView{Row: dash.JobRow{Key: dash.KeyPool, Due: fakeNow.AddDate(50_000, 0, 0)}}, []string{"beyond"}},
		"due by a score of 0":  {dash.JobView{Row: dash.JobRow{Key: dash.KeyPool}, State: paused}, []string{"unconsumed", "paused", "due"}},
		"runs, unknown how":    {dash.JobView{Row: dash.JobRow{Key: dash.KeyRunning}}, []string{"runs"}},
		"due under pressure":   {dash.JobView{Row: dash.JobRow{Key: dash.KeyPool, Due: ago(time.Hour)}, State: dash.State{Backpressure: true}}, []string{"pressed", "due"}},
		"ready under pressure": {dash.JobView{Row: dash.JobRow{Key: dash.KeyReady}, State: dash.State{Backpressure: true, Throttled: "1/s"}}, []string{"throttled", "ready"}},
		"ready, looked at":     {dash.JobView{Row: dash.JobRow{Key: dash.KeyReady}, State: dash.State{Looking: true}}, []string{"looking", "ready"}},
		"ready, paused":        {dash.JobView{Row: dash.JobRow{Key: dash.KeyReady}, State: paused}, []string{"unconsumed", "paused", "ready"}},
		"ready, in a window":   {dash.JobView{Row: dash.JobRow{Key: dash.KeyReady}, State: dash.State{Paused: &dash.Paused{Window: "02:00-04:00"}}}, []string{"window", "ready"}},
		"ready, all of it":     {dash.JobView{Row: dash.JobRow{Key: dash.KeyReady}, State: dash.State{Breaker: &dash.Breaker{}, Shut: []string{"a"}, Trouble: []string{"b"}, Stalled: "c"}}, []string{"breaker", "shut", "trouble", "stalled", "ready"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.job.Now = fakeNow
			var got []string
			for _, r := range tt.job.Why() {
				got = append(got, r.Code)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
