package queue_test

import (
	"fmt"
	"testing"
	"time"

	"sidecar/queue"
)

func TestTheAuditTrailKeepsTheNewestThousandLines(t *testing.T) {
	b := newBench(t, nil, "maxmemory 50mb")
	a := queue.NewAudit(b.rdb, "shop_")
	if lines, err := a.Recent(t.Context(), 5); err != nil || len(lines) != 0 {
		t.Errorf("at first %v, %v", lines, err)
	}
	for i := range 1003 {
		if i == 1000 {
			b.do(t, "CONFIG", "SET", "maxmemory", 1) // what people do is written down all the same
		}
		if err := a.Add(t.Context(), queue.Audited{By: "cli ann@web1", Verb: "drop", Topic: "mail", Count: i, UUID: "u", Filter: "error=x", File: "f"}); err != nil {
			t.Fatal(err)
		}
	}
	b.do(t, "CONFIG", "SET", "maxmemory", 0)
	lines, err := a.Recent(t.Context(), 5000)
	if err != nil || len(lines) != 1000 || lines[0].Count != 1002 || lines[999].Count != 3 {
		t.Fatalf("%d lines, %v, from %+v", len(lines), err, lines[0])
	}
	if line := lines[0]; time.Since(line.At).Abs() > tolerance || line.At.Location() != time.UTC || line.By != "cli ann@web1" || line.File != "f" {
		t.Errorf("the newest is %+v", line)
	}
	b.do(t, "LPUSH", "shop_sidecar:audit", "rubbish")
	if lines, err := a.Recent(t.Context(), 2); err != nil || fmt.Sprint(len(lines)) != "1" {
		t.Errorf("beside rubbish %v, %v", lines, err)
	}
	if lines, err := a.Recent(t.Context(), 0); err != nil || lines != nil {
		t.Errorf("none asked for: %v, %v", lines, err)
	}
}
