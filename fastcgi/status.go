package fastcgi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	statusEvery    = time.Second
	statusPatience = time.Second
)

// statusPage is what pm.status_path answers, as far as it is read.
type statusPage struct {
	Queue    int `json:"listen queue"`
	Idle     int `json:"idle processes"`
	Active   int `json:"active processes"`
	Reached  int `json:"max children reached"`
	Slow     int `json:"slow requests"`
	Accepted int `json:"accepted conn"`
}

// watchStatus follows FPM's status page while jobs run or want to, and takes slots back while others wait for a child.
func (p *Pool) watchStatus(ctx context.Context) {
	at, path := p.opts.statusPage()
	if path == "" {
		return
	}
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		used, limit, wanted := p.load()
		if used == 0 && !wanted || p.shutReason() != nil {
			continue
		}
		page, err := p.askStatus(ctx, at, path)
		if err == nil {
			p.keepPage(page)
		} else if ctx.Err() == nil && (last == nil || last.Error() != err.Error()) {
			p.log.WarnContext(ctx, "php-fpm's status page does not answer", "status", p.opts.Status, "error", err)
		}
		last = err
		p.setLimit(nextLimit(limit, p.slots(), p.crowded(page, err, used)))
	}
}

// statusParams are those of a request for the status page. Its SCRIPT_NAME is what FPM goes by (FPM-FACTS 6).
func statusParams(path string) map[string]string {
	params := baseParams(path, path, "/", "")
	params["REQUEST_METHOD"], params["QUERY_STRING"] = "GET", "json"
	params["SCRIPT_NAME"], params["REQUEST_URI"] = path, path
	return params
}

// askStatus reads the status page.
func (p *Pool) askStatus(ctx context.Context, at address, path string) (statusPage, error) {
	answer, err := p.ask(ctx, at, statusParams(path), newNonce(), statusPatience)
	if err != nil {
		return statusPage{}, err
	}
	var page statusPage
	if err := json.Unmarshal(answer.output, &page); err != nil {
		return statusPage{}, fmt.Errorf("%s is no status page: %s", path, answer.refusal())
	}
	return page, nil
}

// keepPage keeps a page that was just read.
func (p *Pool) keepPage(page statusPage) {
	p.mu.Lock()
	p.page, p.pageAt = page, time.Now()
	p.mu.Unlock()
	p.metrics.listenQueue(p, page.Queue)
}

// crowded reports that requests of others wait for a child, as far as can be told with used slots of ours.
func (p *Pool) crowded(page statusPage, err error, used int) bool {
	switch {
	case errors.Is(err, errBusy): // not even the status page got one
		return used < p.slots() && !p.opts.ownStatusPage()
	case err != nil:
		return false
	case page.Queue > 0:
		return true
	}
	others := page.Active - used
	if !p.opts.ownStatusPage() {
		others-- // the status request's own child
	}
	// A unix socket's queue always reads 0 (FPM-FACTS 6); no idle child beside others' requests is the best hint there is.
	return p.listen.unix() && page.Idle == 0 && others > 0
}

// nextLimit halves the slots while others wait, and gives them back one by one.
func nextLimit(limit, children int, crowded bool) int {
	if crowded {
		return max(1, limit/2)
	}
	return min(children, limit+1)
}
