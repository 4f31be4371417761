package fastcgi_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sidecar/internal/testenv"
)

// fakeOrder is what a bridge is told, as far as the fake cares.
type fakeOrder struct {
	Mode   string `json:"mode"`
	Nonce  string `json:"nonce"`
	Token  string `json:"token"`
	Socket string `json:"socket"`
}

// fakeWorker is a bridge of ours in mode worker, in Go, which does what a test wants.
type fakeWorker struct {
	order fakeOrder
	conn  net.Conn
	in    *bufio.Reader
}

// hello says who it is, as version v with that token.
func (w *fakeWorker) hello(v int, token string) {
	id := sha256.Sum256([]byte("worker:" + w.order.Token))
	auth := sha256.Sum256([]byte(token + ":hello"))
	w.send('H', fmt.Sprintf(`{"v":%d,"id":"%x","auth":"%x","pid":1,"php":"8.2.0","mem":1}`, v, id[:8], auth))
}

// ready says hello and that it serves.
func (w *fakeWorker) ready() {
	w.hello(1, w.order.Token)
	w.send('R', `{"boot_ms":1,"mem":1}`)
}

func (w *fakeWorker) send(kind byte, body string) {
	frame := binary.BigEndian.AppendUint32(nil, uint32(1+len(body)))
	_, _ = w.conn.Write(append(append(frame, kind), body...))
}

// next returns the next frame, 0 when the sidecar has gone.
func (w *fakeWorker) next() (kind byte, body string) {
	var head [5]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return 0, ""
	}
	text := make([]byte, binary.BigEndian.Uint32(head[:])-1)
	_, _ = io.ReadFull(w.in, text)
	return head[4], string(text)
}

// job returns the next job's id, answering pings; "" when it is to leave.
func (w *fakeWorker) job() (id string) {
	for {
		switch kind, body := w.next(); kind {
		case 'J':
			return body[:4]
		case 'C':
			w.send('P', body)
		default:
			return ""
		}
	}
}

func (w *fakeWorker) done(id string) { w.send('V', id+`{"v":"done","ms":0.01,"mem":1}`) }

// serve does every job.
func (w *fakeWorker) serve() {
	for id := w.job(); id != ""; id = w.job() {
		w.done(id)
	}
	w.send('B', `{"why":"end","jobs":1}`)
}

// fakeWorkers is an FPM whose children are fake workers that run as, one after another; each ends its request when
// it is done.
func fakeWorkers(t *testing.T, as func(n int, w *fakeWorker)) *testenv.FPM {
	t.Helper()
	dir, err := os.MkdirTemp("", "sidecar-fake-") // t.TempDir's are too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "fpm.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	var mu sync.Mutex
	n := 0
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				order, ok := readOrder(c)
				if !ok {
					return
				}
				if order.Mode != "worker" {
					_, _ = io.WriteString(c, record(fakeStdout, "X: y\r\n\r\n"+signOf(order, order.Mode == "check"))+record(fakeEnd, "12345678"))
					return
				}
				mu.Lock()
				n++
				mine := n
				mu.Unlock()
				back, err := net.Dial("unix", strings.TrimPrefix(order.Socket, "unix://"))
				if err == nil {
					as(mine, &fakeWorker{order: order, conn: back, in: bufio.NewReader(back)})
					_ = back.Close()
				}
				_, _ = io.WriteString(c, record(fakeEnd, "12345678"))
			})
		}
	})
	return &testenv.FPM{Dir: dir, Listen: "unix://" + path}
}

// readOrder reads a request and what it tells the bridge.
func readOrder(c net.Conn) (o fakeOrder, ok bool) {
	var params strings.Builder
	for {
		var head [8]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return o, false
		}
		size := int64(binary.BigEndian.Uint16(head[4:]))
		content := io.Discard
		if head[1] == 4 {
			content = &params
		}
		_, _ = io.CopyN(content, c, size)
		_, _ = io.CopyN(io.Discard, c, int64(head[6]))
		if head[1] == 5 && size == 0 {
			break
		}
	}
	_, text, ok := strings.Cut(params.String(), `SIDECAR_BRIDGE{`)
	return o, ok && json.NewDecoder(strings.NewReader("{"+text)).Decode(&o) == nil
}

// signOf prints a verdict as the bridge does.
func signOf(o fakeOrder, ok bool) string {
	verdict := `{"v":"failed","error":"this fake kills nobody"}`
	if ok {
		verdict = `{"v":"done"}`
	}
	payload := base64.StdEncoding.EncodeToString([]byte(verdict))
	sum := sha256.Sum256([]byte(o.Nonce + ":" + payload))
	return "\nsidecar-verdict " + hex.EncodeToString(sum[:]) + " " + payload + "\n"
}

// idOf names a run on the report socket, as the bridge does.
func idOf(nonce string) string {
	sum := sha256.Sum256([]byte("hello:" + nonce))
	return hex.EncodeToString(sum[:8])
}
