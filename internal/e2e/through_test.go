package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What the sidecar may change in a retried text: the counter in place, and last_error appended last.
var retriedEdit = regexp.MustCompile(`,"last_error":"支付回调失败: injected\\/once"}$`)

func TestManyJobsRunThroughAndLeaveNothingBehind(t *testing.T) { eachMode(t, runThrough) }

func runThrough(t *testing.T, mode string) {
	t.Helper()
	const failEvery = 20
	jobs := scaledTo(20000, 2000)
	r := newRig(t, 8)
	r.mode = mode
	p := r.start(r.config("", `retry = ["500ms"]`))
	texts := r.produce(jobs, 3000, failEvery, 0)

	eventually(t, 5*time.Minute, func() error {
		if done := r.marked("E"); done != jobs {
			return fmt.Errorf("%d of %d jobs ended", done, jobs)
		}
		return nil
	})
	r.wantEmpty(5 * time.Second)

	for uuid, runs := range r.runs("E") {
		if runs != 1 {
			t.Errorf("%s ended %d times, want once", uuid, runs)
		}
	}
	r.wantSurgicalRetries(texts, jobs/failEvery)
	p.signal(syscall.SIGTERM)
	p.wantExit(0, 10*time.Second)
}

// wantSurgicalRetries compares the retried texts with the produced ones byte for byte.
func (r *rig) wantSurgicalRetries(produced []string, want int) {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "retried.log"))
	if err != nil {
		r.t.Fatal(err)
	}
	known := make(map[string]bool, len(produced))
	for _, text := range produced {
		known[text] = true
	}
	retried := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(retried) != want {
		r.t.Errorf("%d texts were retried, want %d", len(retried), want)
	}
	for _, text := range retried {
		before := strings.Replace(retriedEdit.ReplaceAllString(text, "}"), `"retry":1`, `"retry":0`, 1)
		if !known[before] {
			r.t.Fatalf("the retried text\n%s\ndiffers from every produced one in more than retry and last_error", text)
		}
	}
}
