package queue

import (
	"encoding/base64"
	"encoding/json"
	"errors"
)

// ErrNoCursor reports a text that is no cursor of the search.
var ErrNoCursor = errors.New("no cursor of this search")

// cursor is how far a Search has come.
type cursor struct {
	Place int      `json:"p,omitempty"` // index among the places of the search
	Shard int      `json:"s,omitempty"`
	Scan  uint64   `json:"z,omitempty"` // pool and running: ZSCAN's
	Bytes int      `json:"b,omitempty"` // of a text there, on average
	At    int64    `json:"n,omitempty"` // a list: texts between the end and what is to be read next
	Back  int      `json:"k,omitempty"` // of these, how many are read again
	Marks []uint32 `json:"m,omitempty"` // sums of the last of these

	Length int64 `json:"g,omitempty"` // of the list, at that step

	Restarts int   `json:"r,omitempty"`
	Unsure   bool  `json:"u,omitempty"`
	Looked   int64 `json:"l,omitempty"`
	Of       int64 `json:"o,omitempty"`
}

// text is the cursor as a URL can carry it.
func (c cursor) text() string {
	b, _ := json.Marshal(c) // numbers always can be
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor undoes text.
func parseCursor(text string) (c cursor, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return cursor{}, err
	}
	if err = json.Unmarshal(b, &c); err != nil {
		return cursor{}, err
	}
	if c.Place < 0 || c.Shard < 0 || c.At < 0 || c.Back < 0 || len(c.Marks) > marksKept {
		return cursor{}, ErrNoCursor
	}
	return c, nil
}

// scanFirst is how many texts the first ZSCAN asks for, since nobody knows yet how large they are, and scanMost how many a later one:
// each lies somewhere else in memory, so that they cost Redis more than a list's neighbours do.
const (
	scanFirst = 50
	scanMost  = 200
)

// scanCount is how many texts the next ZSCAN asks for.
func (c cursor) scanCount() int64 {
	if c.Scan == 0 {
		return scanFirst
	}
	return int64(max(1, min(scanMost, windowBytes/max(1, c.Bytes))))
}

// nextKey moves the cursor to the beginning of the next key.
func (c *cursor) nextKey(place Place, shards int) {
	next := cursor{Place: c.Place + 1, Unsure: c.Unsure, Looked: c.Looked, Of: c.Of}
	if place == InReady && c.Shard+1 < shards {
		next.Place, next.Shard = c.Place, c.Shard+1
	}
	*c = next
}
