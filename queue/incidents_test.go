package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

func TestTheLastIncidentOfEachKindAndTopicIsToldOfForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := queue.NewIncidents()
		in.Note(queue.Incident{Kind: queue.IncidentUnit, Topic: "mail", Detail: "s"})
		wait(t.Context(), time.Hour)
		for range 3 {
			in.Note(queue.Incident{Kind: queue.IncidentUnreadable, Topic: "mail", Detail: strings.Repeat("é", 150), Count: 1})
		}
		in.Note(queue.Incident{Kind: queue.IncidentUnit, Topic: "sms", Detail: "us"})
		wait(t.Context(), time.Minute)
		list := in.List()
		if len(list) != 3 || list[0].Ago != 3660 || list[1].Count != 3 || len(list[1].Detail) > 210 || list[2].Ago != 60 {
			t.Errorf("%+v", list)
		}
		now := time.Unix(100_000, 0).UTC()
		beats := []queue.Heartbeat{
			{Host: "a", At: now, Incidents: list},
			{Host: "b", At: now.Add(-time.Hour), Stopped: true, Incidents: []queue.Incident{{Kind: queue.IncidentUnit, Topic: "mail", Ago: 1}, {Kind: queue.IncidentLost, Topic: "sms", Ago: 80_000, Count: 3, Of: 4}}},
			{Host: "c", At: now.Add(-20 * time.Hour), Incidents: []queue.Incident{{Kind: queue.IncidentLost, Topic: "mail", Ago: 5 * 3600}}},
		}
		var got []string
		for _, i := range queue.IncidentsOf(beats, now) {
			got = append(got, fmt.Sprint(i.Host, i.Kind, i.Topic, now.Sub(i.At)))
		}
		if want := "[aunreadablemail1m0s aunitsms1m0s bunitmail1h0m1s blostsms23h13m20s]"; fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
		wait(t.Context(), 24*time.Hour)
		if list := in.List(); len(list) != 0 {
			t.Errorf("after a day %+v", list)
		}
		for i := range 70 {
			in.Note(queue.Incident{Kind: queue.IncidentLost, Topic: fmt.Sprint(i)})
		}
		if list := in.List(); len(list) != 50 || list[49].Topic != "69" {
			t.Errorf("%d are told of, want the last 50", len(list))
		}
		var none *queue.Incidents
		none.Note(queue.Incident{})
		if none.List() != nil {
			t.Error("a nil one keeps some")
		}
	})
}

func TestTextsThatWereNoJobsAreSeenInDeadAndRemembered(t *testing.T) {
	b := newBench(t, nil)
	f := startFlow(t, b, nil, newRuns().handler(compat.Outcome{Verdict: compat.Rejected, Error: "never"}))
	b.ready(t, "no job", text("a"), `[1]`)
	eventually(t, "all to be dead", func() bool { return b.size(t, b.keys.Dead) == 3 })
	list := f.incidents.List()
	if len(list) != 1 || list[0].Kind != queue.IncidentUnreadable || list[0].Count != 2 || list[0].Detail == "" {
		t.Errorf("incidents are %+v", list)
	}
	looks, err := b.Look(t.Context(), 50)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range looks {
		if k.Role == "dead" && (k.Seen != 3 || k.Buried != 2 || len(k.Faults) == 0 || k.Unread != 0 || len(k.Died) != 3) {
			t.Errorf("dead looks like %+v", k)
		}
	}
}
