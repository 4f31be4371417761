package spool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidecar/internal/spool"
	phpclient "sidecar/php-client"
	"sidecar/queue"
)

// printed answers every request with what it makes of the order's nonce.
type printed func(nonce string) string

func (p printed) Ask(_ context.Context, body string, _ int) ([]byte, error) {
	var o struct{ Nonce string }
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		return nil, err
	}
	return []byte(p(o.Nonce)), nil
}

// answer prints the rows as spool.php does.
func answer(end string, rows ...string) printed {
	return func(nonce string) string {
		return fmt.Sprintf("\nsidecar-spool %s begin \n%s\n\nsidecar-spool %s end %s\n", nonce, strings.Join(rows, "\n"), nonce, end)
	}
}

func options() spool.Options {
	o := spool.DefaultOptions()
	o.Name, o.DSN, o.Password = "web", "sqlite:/spool.sqlite", "hunter2"
	return o
}

func TestOnlyAWholeAnswerCounts(t *testing.T) {
	whole := answer(`{"left":7}`)
	tests := map[string]struct {
		printed printed
		want    string
	}{
		"whole":             {whole, ""},
		"with noise":        {func(n string) string { return "Deprecated: what\n" + whole(n) + "<!-- 12 ms -->\n" }, ""},
		"nothing":           {func(string) string { return "" }, "no whole answer"},
		"a page":            {func(string) string { return "<html>hello" }, `"<html>hello"`},
		"somebody else's":   {func(string) string { return whole("0123") }, "no whole answer"},
		"cut in the middle": {func(n string) string { text := whole(n); return text[:len(text)/2] }, "it is cut off"},
		"cut in its end":    {func(n string) string { return strings.TrimSuffix(whole(n), "}\n") }, "its end"},
		"an error":          {answer(`{"error":"unable to open database file"}`), "spool web: unable to open database file"},
		"a row that is cut": {answer(`{"left":1}`, `{"kind":"pool"`), "a row"},
	}
	for name, tt := range tests {
		s, err := spool.NewTable(options(), tt.printed).Status(t.Context())
		switch {
		case tt.want == "" && (err != nil || s.Rows != 7):
			t.Errorf("%s: got %+v, %v", name, s, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
}

// A web server that serves the file by mistake hands nobody's orders on to a database.
func TestTheFileDoesNothingForAnybodyElse(t *testing.T) {
	r := newRig(t)
	r.store(texts(smsList, "a")...)
	stranger := r.pool.NewAide("spool", "HTTP_SIDECAR_SPOOL", phpclient.Spool)
	if s, err := spool.NewTable(r.opts, stranger).Status(t.Context()); err == nil || !strings.Contains(err.Error(), "answered 403") {
		t.Errorf("got %+v, %v", s, err)
	}
}

// never is an Inlet that must not be asked.
type never struct{ t *testing.T }

func (n never) Spool(context.Context, queue.Spooling) (queue.Spooled, error) {
	n.t.Error("a row that cannot come in was offered")
	return queue.Spooled{}, nil
}

// What somebody has written into the table by hand, or is too large, stays where it is.
func TestRowsThatCannotComeInStay(t *testing.T) {
	ticket := strings.Repeat("ab", 16)
	for row, want := range map[string]string{
		`{"id":5,"ticket":"` + ticket + `","kind":"set","key":"YQ==","text":"YQ=="}`:             `row 5: kind = "set"`,
		`{"id":6,"ticket":"no hex!","kind":"list","key":"YQ==","text":"YQ=="}`:                   `row 6: ticket = "no hex!"`,
		`{"id":7,"ticket":"` + ticket + `","kind":"list","key":"YQ==","size":99999,"text":null}`: `row 7: its text has 99999 bytes`,
	} {
		table := spool.NewTable(options(), answer(`{"spool":"5f","read":1,"last":true,"left":1}`, row))
		got, left, err := drain(t, spool.NewDrainer(options(), table, never{t}, nil), 0)
		if got != (spool.Progress{Held: 1}) || left != 1 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %+v, %d left, %v; want %s", got, left, err, want)
		}
	}
}

// all is an Inlet that takes everything.
type all struct{}

func (all) Spool(_ context.Context, s queue.Spooling) (queue.Spooled, error) {
	done := queue.Spooled{In: make([]bool, len(s.Rows)), Added: len(s.Rows)}
	for i := range done.In {
		done.In[i] = true
	}
	return done, nil
}

// endless is a table with ever more rows, and notes how long an order is.
type endless struct{ id, longest int }

func (e *endless) Ask(ctx context.Context, body string, _ int) ([]byte, error) {
	var o struct{ Limit int }
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		return nil, err
	}
	e.longest = max(e.longest, len(body))
	var rows []string
	for range o.Limit {
		e.id++
		rows = append(rows, fmt.Sprintf(`{"id":%d,"ticket":"%032x","kind":"list","key":"YQ==","text":"YQ=="}`, e.id, e.id))
	}
	return answer(`{"spool":"5f","read":1}`, rows...).Ask(ctx, body, 0)
}

func TestRowsComeInAtTheRateAtMost(t *testing.T) {
	for rate, want := range map[int]int{3: 30, 50: 500, 150: 1500} {
		synctest.Test(t, func(t *testing.T) {
			d := spool.NewDrainer(options(), spool.NewTable(options(), &endless{}), all{}, nil)
			pass := d.Begin(0, rate)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second-time.Millisecond)
			defer cancel()
			for {
				if _, err := pass.Step(ctx); err != nil {
					break
				}
			}
			if got := pass.Progress().Added; got < want-100 || got > want+100 || rate < 100 && got != want {
				t.Errorf("%d rows in 10 s at %d a second", got, rate)
			}
		})
	}
}

// PHP keeps what is longer in a file.
func TestNoOrderWithItsPasswordIsLongerThan16KB(t *testing.T) {
	o := options()
	o.DSN, o.Username, o.Password = "mysql:host=database.internal;dbname=shop;charset=utf8mb4", "shop", queue.Secret(strings.Repeat("x", 200))
	o.Batch, o.Rate = 200, 0
	table := &endless{id: 1 << 60}
	pass := spool.NewDrainer(o, spool.NewTable(o, table), all{}, nil).Begin(0, -1)
	for range 3 {
		if _, err := pass.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if table.longest < 10<<10 || table.longest > 16<<10-1 {
		t.Errorf("the longest order has %d bytes", table.longest)
	}
	if o.Batch++; o.Validate() == nil {
		t.Errorf("a batch of %d holds", o.Batch)
	}
}

func TestOptionsThatDoNotHoldAreNamed(t *testing.T) {
	o := options()
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	o.DSN, o.Every, o.Batch, o.Rate = "mysql:dbname=x;password=hunter2", time.Millisecond, 0, -1
	err := o.Validate()
	for _, want := range []string{"dsn: ", "drain_every = ", "batch = 0", "rate = -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("it shows the password: %v", err)
	}
}
