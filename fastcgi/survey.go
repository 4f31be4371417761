package fastcgi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"sidecar/internal/proc"
)

// surveyPatience is how long each step of a Survey waits.
const surveyPatience = 3 * time.Second

// statusLimit is above what the status page of a large pool has.
const statusLimit = 1 << 20

// Survey is what can be seen of a pool from here, without any job and without [Pool.Run].
type Survey struct {
	Err    error       // why it cannot be reached; the rest is empty then
	Master int         // the pid of the process that listens, 0: not known
	Page   *StatusPage // what the status page says; nil: none is configured, or see PageErr
	// PageErr says why the status page that is configured did not answer.
	PageErr error
}

// StatusPage is PHP-FPM's status page with the pool's children.
type StatusPage struct {
	statusPage

	Mode     string   `json:"process manager"`
	Children []Served `json:"processes"`
}

// Served is what a child of the pool serves, or served last.
type Served struct {
	Script string `json:"script"`
}

// Survey looks at the pool.
func (p *Pool) Survey(ctx context.Context) Survey {
	conn, err := p.knock(ctx)
	if err != nil {
		return Survey{Err: explainDial(p.listen, err)}
	}
	s := Survey{Master: p.listenedBy(conn)}
	_ = conn.Close()
	if at, path := p.opts.statusPage(); path != "" {
		s.Page, s.PageErr = p.readStatus(ctx, at, path)
	}
	return s
}

func (p *Pool) knock(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyPatience)
	defer cancel()
	return new(net.Dialer).DialContext(ctx, p.listen.network, p.listen.name)
}

// listenedBy returns the pid of who listens at the other end, 0 where that does not show.
func (p *Pool) listenedBy(conn net.Conn) int {
	if unix, ok := conn.(*net.UnixConn); ok {
		pid, err := listenerPID(unix)
		if err != nil {
			return 0
		}
		return pid
	}
	host, port, err := net.SplitHostPort(conn.RemoteAddr().String())
	n, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || !ownAddress(conn, host) {
		return 0
	}
	pid, err := proc.Listener(n)
	if err != nil {
		return 0
	}
	return pid
}

// ownAddress reports that the other end of conn is on this host.
func ownAddress(conn net.Conn, host string) bool {
	local, _, err := net.SplitHostPort(conn.LocalAddr().String())
	return err == nil && local == host
}

// readStatus asks for the status page, with all children.
func (p *Pool) readStatus(ctx context.Context, at address, path string) (*StatusPage, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyPatience)
	defer cancel()
	params := statusParams(path)
	params["QUERY_STRING"] = "json&full"
	x, r, err := fetch(ctx, at, params, "", statusLimit)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%w within %s: php-fpm hangs, or all its children are busy", errBusy, surveyPatience)
	case err != nil:
		return nil, err
	}
	defer x.close()
	if !x.ended() {
		return nil, fmt.Errorf("connection lost: %w", x.conn.overErr)
	}
	var page StatusPage
	if err := json.Unmarshal(r.out.head, &page); err != nil {
		refused := facts{status: r.status, stderr: r.err.last(), output: r.out.head}
		return nil, fmt.Errorf("%s is no status page: %s", path, refused.refusal())
	}
	return &page, nil
}
