package fastcgi_test

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// socketOf is where the rig's pool listens in that role.
func (r *rig) socketOf(role string) string {
	r.t.Helper()
	paths, err := filepath.Glob(filepath.Join(r.fpm.Dir, "sidecar", role+"-*.sock"))
	if err != nil || len(paths) != 1 {
		r.t.Fatalf("%s sockets: %v, %v", role, paths, err)
	}
	return paths[0]
}

// call connects and says text; the connection stays until the test ends, or the other side hangs up.
func call(t *testing.T, socket, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, _ = io.WriteString(c, text) // it may have hung up before all was written
	return c
}

// frameOf is a frame as a bridge would send it, of which announced bytes are promised.
func frameOf(kind byte, announced uint32, body string) string {
	return string(append(binary.BigEndian.AppendUint32(nil, announced), kind)) + body
}

// strangeWords are what somebody may say who is no bridge of ours.
func strangeWords() map[string]string {
	guessed := `{"v":1,"id":"0123456789abcdef","auth":"` + strings.Repeat("0", 64) + `","pid":1}`
	return map[string]string{
		"nothing":               "",
		"half a head":           "\x00\x00",
		"half a frame":          frameOf('H', 300, `{"v":1,`),
		"a huge frame":          frameOf('H', 32<<20, strings.Repeat("x", 1<<20)),
		"beyond every limit":    frameOf('H', 1<<32-1, "x"),
		"an empty frame":        frameOf('H', 0, ""),
		"another protocol":      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"a hello of a stranger": frameOf('H', uint32(1+len(guessed)), guessed),
		"a hello that is none":  frameOf('H', 5, "null"),
		"a verdict":             frameOf('V', 17, "\x00\x00\x00\x01{\"v\":\"done\"}"),
		"a report without end":  strings.Repeat("REPORT ", 20000),
		"bytes":                 "\xff\xfe\x00\r\n\x1b[2J",
	}
}

// Whoever can reach a socket can connect to it: nothing that he says or holds back may disturb a job, or cost more
// than a little memory for a little while.
func TestStrangersOnTheSocketsDisturbNoWorker(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 4})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 4 })
	topic := r.worker("ok", `usleep(1000); return true;`, func(o *fastcgi.TopicOptions) { o.MaxJobs = 20 }) // so that new ones call all the time
	r.run()
	r.opened(topic)
	for name, text := range strangeWords() {
		t.Run(name, func(t *testing.T) {
			for _, role := range []string{"worker", "report"} {
				call(t, r.socketOf(role), text)
			}
			wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 400 { // far more than are listened to at once, and all of them stay
		call(t, r.socketOf("worker"), "")
		call(t, r.socketOf("report"), "REPORT ")
	}
	got := handleAll(t.Context(), topic, 200, func(int) compat.Job { return job(t, "") })
	if got[compat.Done] != 200 || got[compat.Crashed]+got[compat.Failed] > 0 {
		t.Errorf("with 800 strangers: %v", got)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 64<<20 {
		t.Errorf("800 strangers cost %d MB", grown>>20)
	}
}

// A frame of the size that bridges may send is not read from somebody who has not said who he is.
func TestAStrangersHelloIsShort(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	r.worker("ok", `return true;`)
	r.run()
	c := call(t, r.socketOf("worker"), frameOf('H', 5000, ""))
	began := time.Now()
	_ = c.SetReadDeadline(began.Add(20 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("he was answered")
	}
	if took := time.Since(began); took > 4*time.Second { // 5 s are for those who say nothing
		t.Errorf("hung up after %s only", took)
	}
}

// The token is good once: a second caller that has it, from a variable that some code has printed, gets nothing.
func TestATokenIsGoodOnce(t *testing.T) {
	second := make(chan error, 1)
	f := fakeWorkers(t, func(_ int, w *fakeWorker) {
		w.ready()
		id := w.job()
		other := &fakeWorker{order: w.order}
		var err error
		if other.conn, err = net.Dial("unix", strings.TrimPrefix(w.order.Socket, "unix://")); err == nil {
			other.ready()
			_ = other.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			_, err = other.conn.Read(make([]byte, 1))
			_ = other.conn.Close()
		}
		second <- err
		w.done(id)
		w.serve()
	})
	r := newRig(t, f)
	topic := r.topic("/srv/job.php", resident, func(o *fastcgi.TopicOptions) { o.Workers = 1 })
	r.run()
	r.opened(topic)
	wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
	if err := <-second; err == nil || os.IsTimeout(err) {
		t.Errorf("the second caller was not hung up on: %v", err)
	}
}

// What a handler finds out about its run is of no use to another process, not even while it runs.
func TestReportsAreBelievedOnlyWithTheSecret(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f).run()
	dir := f.Shared()
	script := f.Script("told.php", `<?php file_put_contents('`+dir+`/order.tmp', getenv('SIDECAR_BRIDGE'));
rename('`+dir+`/order.tmp', '`+dir+`/order'); for ($n = 0; $n < 4000 && !file_exists('`+dir+`/go'); $n++) { usleep(5000); }
throw new Exception('the true verdict');`)
	topic := r.topic(script)
	done := make(chan fastcgi.Result, 1)
	var wg sync.WaitGroup
	wg.Go(func() { done <- topic.Run(t.Context(), job(t, "")) })
	defer wg.Wait()
	order := filepath.Join(dir, "order")
	testenv.Poll(t, 10*time.Second, "the job to tell its order", func() bool { _, err := os.Stat(order); return err == nil })
	text, err := os.ReadFile(order)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), `"nonce":"`)
	nonce, _, _ := strings.Cut(rest, `"`)
	if len(nonce) != 32 {
		t.Fatalf("no nonce in %s", text)
	}
	forged := strings.TrimPrefix(signOf(fakeOrder{Nonce: nonce}, true), "\nsidecar-verdict ")
	if answer := say(t, r.socketOf("report"), "REPORT "+idOf(nonce)+" "+forged); answer == "OK\n" {
		t.Error("a verdict signed with what getenv() shows was believed")
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, <-done, compat.Failed, "the true verdict")
	if strings.Contains(f.Log(), "secret=") {
		t.Error("php-fpm's own log has the secret")
	}
}
