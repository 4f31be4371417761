package spool

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sidecar/queue"
)

// fakeTable answers as spool.php does.
type fakeTable struct {
	ids  []int64
	no   int64
	asks int
}

func keyOf(id int64) string {
	if id < 5 {
		return "bad"
	}
	return "ok"
}

func (f *fakeTable) Ask(_ context.Context, body string, _ int) ([]byte, error) {
	f.asks++
	var o struct {
		Nonce string
		Gone  [][]any
		After int64
		Limit int
	}
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		return nil, err
	}
	for _, g := range o.Gone {
		for i, id := range f.ids {
			if id == int64(g[0].(float64)) {
				f.ids = append(f.ids[:i:i], f.ids[i+1:]...)
				break
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nsidecar-spool %s begin \n", o.Nonce)
	f.no++
	n := 0
	for _, id := range f.ids {
		if id > o.After && n < o.Limit {
			n++
			fmt.Fprintf(&b, `{"id":%d,"ticket":"%016x","kind":"list","key":"%s","size":1,"text":"eA=="}`+"\n", id, id, base64.StdEncoding.EncodeToString([]byte(keyOf(id))))
		}
	}
	fmt.Fprintf(&b, "\nsidecar-spool %s end {\"spool\":\"s\",\"read\":%d,\"last\":%v,\"left\":%d}\n", o.Nonce, f.no, n < o.Limit, len(f.ids))
	return []byte(b.String()), nil
}

// fakeInlet refuses what is for the key bad, and says once, if late, that somebody else was quicker.
type fakeInlet struct{ late bool }

func (i *fakeInlet) Spool(_ context.Context, s queue.Spooling) (queue.Spooled, error) {
	in := make([]bool, len(s.Rows))
	switch {
	case s.Key == "bad":
		return queue.Spooled{In: in, Refused: errors.New("WRONGTYPE")}, nil
	case i.late:
		i.late = false
		return queue.Spooled{Later: s.Reading + 1}, nil
	}
	for j := range in {
		in[j] = true
	}
	return queue.Spooled{In: in, Added: len(in)}, nil
}

// Rows that stay must not be met again and again where another drain was quicker with those beside them.
func TestAnOvertakenPassGetsPastRowsThatStay(t *testing.T) {
	for _, late := range []bool{false, true} {
		f := &fakeTable{ids: []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}}
		o := DefaultOptions()
		p := NewDrainer(o, NewTable(o, f), &fakeInlet{late: late}, nil).Begin(5, -1)
		more, err := true, error(nil)
		for n := 0; more && err == nil && n < 1000; n++ {
			more, err = p.Step(t.Context())
		}
		if more || err != nil || p.Progress().Added != 5 {
			t.Errorf("overtaken %v: after %d readings %+v, more %v, %v, want 5 added", late, f.asks, p.Progress(), more, err)
		}
	}
}
