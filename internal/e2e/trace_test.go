package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// tracesCollector takes what an OTLP/HTTP exporter sends.
type tracesCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span // guarded by mu
	wrong []string        // guarded by mu: what no exporter should send
}

func newTracesCollector(t *testing.T, header, value string) *tracesCollector {
	c := &tracesCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.URL.Path != "/v1/traces" || r.Header.Get(header) != value {
			c.wrong = append(c.wrong, r.URL.Path+" "+r.Header.Get(header))
		}
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			c.wrong = append(c.wrong, err.Error())
			return
		}
		data, _ := io.ReadAll(body)
		var export collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(data, &export); err != nil {
			c.wrong = append(c.wrong, err.Error())
			return
		}
		for _, of := range export.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// named returns the spans of that name, by the message's id for those that have one, else by their parent's id.
func (c *tracesCollector) named(name string) map[string][]*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := map[string][]*tracepb.Span{}
	for _, s := range c.spans {
		if s.Name != name {
			continue
		}
		of := hex.EncodeToString(s.ParentSpanId)
		for _, a := range s.Attributes {
			if a.Key == "messaging.message.id" {
				of = a.Value.GetStringValue()
			}
		}
		spans[of] = append(spans[of], s)
	}
	return spans
}

// tracedRuns returns what the handler was told, by uuid: traceparent and tracestate of each run.
func (r *rig) tracedRuns() map[string][][2]string {
	b, err := os.ReadFile(filepath.Join(r.dir, "runs.log"))
	if err != nil {
		r.t.Fatal(err)
	}
	runs := map[string][][2]string{}
	for line := range strings.Lines(string(b[:bytes.LastIndexByte(b, '\n')+1])) { // the last one may be there in part
		var told [3]string
		if err := json.Unmarshal([]byte(line), &told); err != nil {
			r.t.Fatal(err)
		}
		runs[told[0]] = append(runs[told[0]], [2]string{told[1], told[2]})
	}
	return runs
}

func TestATraceGoesOnInPHPAndTellsOfEachClaim(t *testing.T) {
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	eachMode(t, func(t *testing.T, mode string) {
		t.Parallel()
		c := newTracesCollector(t, "Authorization", "Bearer s3cret")
		r := newRig(t, 2)
		r.mode, r.script = mode, "traced.php"
		r.copyScript(r.script)
		headers := r.write("headers", "Authorization: Bearer s3cret\n")
		conf := r.write("traced.toml", r.servers()+fmt.Sprintf("[trace]\nendpoint = %q\nheaders_file = %q\n\n[topic.%s]\nmode = %q\nscript = %q\nretry = [\"50ms\"]\n",
			c.URL, headers, topic, mode, filepath.Join(r.dir, r.script)))
		for _, job := range []string{
			fmt.Sprintf(`{"uuid":"child","traceparent":"00-%s-%s-01","tracestate":"shop=\"1\",b=2"}`, trace, parent),
			`{"uuid":"root"}`,
			`{"uuid":"hostile","traceparent":"00-x\r\nHTTP_X: 1","tracestate":7}`,
			fmt.Sprintf(`{"uuid":"unsampled","traceparent":"00-%s-%s-00"}`, trace, parent),
			fmt.Sprintf(`{"uuid":"twice","fail_once":true,"traceparent":"00-%s-%s-01"}`, trace, parent),
		} {
			if err := r.rdb.ZAdd(t.Context(), "delay:pool:"+topic, redis.Z{Score: 1, Member: job}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		p := r.start(conf)
		eventually(t, 20*time.Second, func() error {
			if runs := r.tracedRuns(); len(runs) < 5 || len(runs["twice"]) < 2 {
				return fmt.Errorf("runs so far: %v", runs)
			}
			return nil
		})
		r.wantEmpty(10 * time.Second)
		p.signal(syscall.SIGTERM)
		p.wantExit(0, 10*time.Second) // the last spans are sent at the end

		told, whole, ran := r.tracedRuns(), c.named("process "+topic), c.named("run "+topic)
		for uuid, tries := range map[string]int{"child": 1, "root": 1, "hostile": 1, "twice": 2, "unsampled": 0} {
			if len(whole[uuid]) != tries {
				t.Fatalf("%s: %d spans, want %d", uuid, len(whole[uuid]), tries)
			}
			for i, span := range whole[uuid] {
				id := hex.EncodeToString(span.SpanId)
				runs := ran[id]
				if len(runs) != 1 || len(c.named("receive " + topic)[id]) != 1 || len(c.named("settle " + topic)[id]) != 1 {
					t.Fatalf("%s: want one receive, run and settle below its span", uuid)
				}
				want := fmt.Sprintf("00-%s-%s-01", hex.EncodeToString(span.TraceId), hex.EncodeToString(runs[0].SpanId))
				if told[uuid][i][0] != want {
					t.Errorf("%s: PHP was told %q, want the run's span %q", uuid, told[uuid][i][0], want)
				}
			}
		}
		if got := whole["child"][0]; hex.EncodeToString(got.TraceId) != trace || hex.EncodeToString(got.ParentSpanId) != parent {
			t.Errorf("the job's span is not below the producer's: %v", got)
		}
		if got := told["child"][0][1]; got != `shop="1",b=2` {
			t.Errorf("PHP was told the state %q", got)
		}
		if got := told["unsampled"][0][0]; !strings.HasPrefix(got, "00-"+trace+"-") || !strings.HasSuffix(got, "-00") {
			t.Errorf("what the producer does not sample must stay so: %q", got)
		}
		wantNothingPrivate(t, c)
	})
}

// wantNothingPrivate looks for what no collector may learn.
func wantNothingPrivate(t *testing.T, c *tracesCollector) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.wrong {
		t.Errorf("the collector got: %s", w)
	}
	if text := fmt.Sprint(c.spans); strings.Contains(text, "13800138000") || strings.Contains(text, "fail_once") {
		t.Errorf("a span holds a job's text or a handler's error: %s", text)
	}
}

func TestACollectorThatIsAwayCostsNoJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	conf := r.config("[trace]\nendpoint = \"http://127.0.0.1:1\"\n", "")
	p := r.start(conf)
	r.produce(20, 0, 0, 0)
	r.wantEmpty(20 * time.Second)
	if got := r.marked("E"); got != 20 {
		t.Errorf("%d jobs are done, want 20", got)
	}
	p.signal(syscall.SIGTERM)
	p.wantExit(0, 5*time.Second)
	if got := p.count("the trace collector does not take spans"); got != 1 {
		t.Errorf("%d lines about the collector, want 1", got)
	}
}
