package queue

import (
	"testing"

	"sidecar/internal/testenv"
)

// A Redis that was away for a moment is used as soon as it is back, however many calls have met that it was not there.
func TestTheFirstCallAfterAnOutageGetsThrough(t *testing.T) {
	for name, protocol := range map[string]int{"RESP3": 3, "RESP2": 2} {
		t.Run(name, func(t *testing.T) {
			server := testenv.Redis(t)
			rdb, err := Open(RedisOptions{URL: server.URL(), Protocol: protocol}, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = rdb.Close() })
			if err := rdb.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			for round := range 3 {
				server.Kill()
				_ = rdb.Ping(t.Context()).Err() // on the connection that was open
				for range 500 {
					if err := rdb.Ping(t.Context()).Err(); FaultOf(err) != Network || mayHaveRun(err) {
						t.Fatalf("while Redis is away: %v is %s, may have run %t; want a fault of the network that was never sent", err, FaultOf(err), mayHaveRun(err))
					}
				}
				server.Start()
				if err := rdb.Ping(t.Context()).Err(); err != nil {
					t.Errorf("outage %d is over: %v", round+1, err)
				}
			}
		})
	}
}
