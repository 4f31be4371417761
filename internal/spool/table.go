package spool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"sidecar/queue"
)

// Asker has spool.php run with an order for its body, and returns what it prints.
type Asker interface {
	Ask(ctx context.Context, body string, limit int) ([]byte, error)
}

// Parameter is the FastCGI parameter without which spool.php does nothing.
const Parameter = "SIDECAR_SPOOL"

const (
	askPatience = 30 * time.Second

	// readBytes is about how much of texts one reading takes, for all that it takes is in memory three times.
	readBytes = 1 << 20
	// longestText is the longest text that comes in.
	longestText = 64 << 20
	// answerLimit is above what the longest answer has: a text in base64 is a third longer.
	answerLimit = 128 << 20
)

// Table is a spool's table, as spool.php shows it.
type Table struct {
	opts  Options
	asker Asker
}

// NewTable returns the table that opts describe.
func NewTable(opts Options, asker Asker) *Table { return &Table{opts: opts, asker: asker} }

// order is what spool.php is told. It goes in the request's body, for it holds the password.
type order struct {
	Nonce    string `json:"nonce"`
	DSN      string `json:"dsn"`
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	Do       string `json:"do"`

	Gone    []rowID `json:"gone,omitempty"` // rows to delete first
	After   int64   `json:"after"`          // the id behind which to read
	Limit   int     `json:"limit"`          // rows to read at most, 0: none
	Bytes   int     `json:"bytes"`
	Longest int     `json:"longest"`
	Lift    int64   `json:"lift"` // the reading's number is to be above this
	Count   bool    `json:"count"`
}

// The orders.
const (
	doStatus = "status"
	doDrain  = "drain"
)

// rowID names a row for good.
type rowID struct {
	id     int64
	ticket string
}

// MarshalJSON writes what spool.php reads.
func (r rowID) MarshalJSON() ([]byte, error) { return json.Marshal([]any{r.id, r.ticket}) }

// Status is what a spool holds.
type Status struct {
	Missing bool // there is no table: nothing has ever been stored
	Rows    int
	Oldest  time.Duration // since it was stored
	Keys    []KeyRows     // most rows first; not all where there are many
}

// KeyRows is how many rows there are for one key.
type KeyRows struct {
	Key  string
	Rows int
}

// Status looks what the table holds. It changes nothing.
func (t *Table) Status(ctx context.Context) (Status, error) {
	a, err := t.ask(ctx, order{Do: doStatus})
	if err != nil {
		return Status{}, err
	}
	s := Status{Missing: a.end.Missing, Rows: a.end.Left, Oldest: time.Duration(a.end.OldestMS) * time.Millisecond}
	for _, row := range a.rows {
		s.Keys = append(s.Keys, KeyRows{Key: string(row.Key), Rows: row.Rows})
	}
	return s, nil
}

// reading are the rows that one look at the table has found.
type reading struct {
	spool  string
	number int64
	rows   []row
	last   bool // there is none behind them
}

// read deletes the rows gone, then reads the rows behind after, at most limit, and numbers that reading above lift.
func (t *Table) read(ctx context.Context, gone []rowID, after int64, limit int, lift int64) (reading, error) {
	a, err := t.ask(ctx, order{
		Do: doDrain, Gone: gone, After: after, Limit: limit, Lift: lift, Bytes: readBytes, Longest: longestText,
	})
	if err != nil {
		return reading{}, err
	}
	return reading{spool: a.end.Spool, number: a.end.Read, rows: a.rows, last: a.end.Last || a.end.Missing}, nil
}

// remove deletes the rows gone and counts those that are left.
func (t *Table) remove(ctx context.Context, gone []rowID) (left int, err error) {
	a, err := t.ask(ctx, order{Do: doDrain, Gone: gone, Count: true})
	return a.end.Left, err
}

// ask has the order fulfilled.
func (t *Table) ask(ctx context.Context, o order) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	o.Nonce, o.DSN, o.Username, o.Password = newNonce(), t.opts.DSN, t.opts.Username, string(t.opts.Password)
	body, err := json.Marshal(o)
	if err != nil {
		return answer{}, err
	}
	printed, err := t.asker.Ask(ctx, string(body), answerLimit)
	if err != nil {
		return answer{}, fmt.Errorf("spool %s: ask php-fpm: %w", t.opts.Name, err)
	}
	a, err := readAnswer(printed, o.Nonce)
	if err != nil {
		return answer{}, fmt.Errorf("spool %s: %w", t.opts.Name, err)
	}
	return a, nil
}

func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// kind is what the key of a row holds, as PHP spells it.
type kind string

// The kinds.
const (
	kindPool    kind = "pool"
	kindSeconds kind = "pool_s" // a pool whose scores are in seconds, as its producer knows
	kindList    kind = "list"
)

// row is a row as spool.php shows it: a job, or how many there are for a key.
type row struct {
	ID     int64   `json:"id"`
	Ticket string  `json:"ticket"`
	Kind   kind    `json:"kind"`
	Key    []byte  `json:"key"`
	DueMS  int64   `json:"due_ms"`
	Size   int64   `json:"size"`
	Text   *[]byte `json:"text"` // nil: longer than longestText
	Rows   int     `json:"rows"`
}

func (r row) rowID() rowID { return rowID{r.ID, r.Ticket} }

// fault says why the row cannot come in, nil if it can.
func (r row) fault() error {
	switch {
	case r.Kind != kindPool && r.Kind != kindSeconds && r.Kind != kindList:
		return fmt.Errorf("row %d: kind = %q: want %q, %q or %q", r.ID, r.Kind, kindPool, kindSeconds, kindList)
	case !isTicket(r.Ticket):
		return fmt.Errorf("row %d: ticket = %q: want hexadecimal digits that no other row has", r.ID, r.Ticket)
	case r.Text == nil:
		return fmt.Errorf("row %d: its text has %d bytes, want at most %d", r.ID, r.Size, longestText)
	}
	return nil
}

func isTicket(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) >= 16
}

// spoolRow returns what Redis is told of the row.
func (r row) spoolRow() queue.SpoolRow {
	return queue.SpoolRow{ID: r.ID, Ticket: r.Ticket, Due: r.DueMS, Text: string(*r.Text)}
}
