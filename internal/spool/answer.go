package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// answer is what spool.php has printed.
type answer struct {
	rows []row
	end  ending
}

// ending is the last line of an answer, without which it is none.
type ending struct {
	Error    string `json:"error"`
	Missing  bool   `json:"missing"` // there is no table
	Spool    string `json:"spool"`
	Read     int64  `json:"read"` // the reading's number; 0: the table is empty
	Last     bool   `json:"last"`
	Left     int    `json:"left"`
	OldestMS int64  `json:"oldest_ms"`
}

// errNoAnswer reports output that is not spool.php's, or not all of it.
var errNoAnswer = errors.New("no whole answer")

// readAnswer reads what was printed. Whatever stands before and behind the answer is none of it: PHP can be set up to
// print something with every script.
func readAnswer(printed []byte, nonce string) (answer, error) {
	mark := []byte("\nsidecar-spool " + nonce + " ")
	_, inside, begun := bytes.Cut(printed, append(bytes.Clone(mark), "begin"...))
	inside, last, ended := bytes.Cut(inside, append(bytes.Clone(mark), "end"...))
	if !begun || !ended {
		return answer{}, fmt.Errorf("%w from spool.php: %s", errNoAnswer, head(printed))
	}
	last, _, _ = bytes.Cut(last, []byte("\n"))
	var a answer
	if err := json.Unmarshal(last, &a.end); err != nil {
		return answer{}, fmt.Errorf("%w from spool.php: its end: %w", errNoAnswer, err)
	}
	if a.end.Error != "" {
		return answer{}, errors.New(a.end.Error)
	}
	for line := range bytes.Lines(inside) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			return answer{}, fmt.Errorf("%w from spool.php: a row: %w", errNoAnswer, err)
		}
		a.rows = append(a.rows, r)
	}
	return a, nil
}

// head returns the beginning of an output that is not understood, unless it could hold a job.
func head(printed []byte) string {
	text := strings.TrimSpace(string(printed[:min(len(printed), 200)]))
	if strings.Contains(text, "sidecar-spool ") {
		return "it is cut off"
	}
	return fmt.Sprintf("%q", text)
}
