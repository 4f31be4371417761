package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// atOnce returns how many jobs ran at once, at most, by the handlers' own marks.
func (r *rig) atOnce() (most int) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "runs.log"))
	if err != nil {
		r.t.Fatal(err)
	}
	running := 0
	for line := range bytes.Lines(text) {
		switch line[0] {
		case 'S':
			running++
		case 'E':
			running--
		}
		most = max(most, running)
	}
	return most
}

func TestReloadedChildrenAreCountedOnce(t *testing.T) {
	t.Parallel()
	const jobs = 60
	r := newRig(t, 12) // FPM itself would run twelve
	base := r.config("", "")
	text, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	children := func(n int) {
		t.Helper()
		r.write("sidecar.toml", strings.Replace(string(text), "children = 12", fmt.Sprintf("children = %d", n), 1))
	}
	children(4)
	p := r.start(base)
	p.wantReady(10 * time.Second)
	r.produce(jobs, 0, 0, 400)
	for i, n := range []int{3, 4, 2, 4} {
		r.wantStarted(4 * (i + 1))
		children(n)
		p.reload(i + 1)
	}
	r.wantEmpty(time.Minute)
	r.wantOneRunEach(jobs)
	if most := r.atOnce(); most > 4 {
		t.Errorf("%d jobs ran at once, never more than 4 were allowed", most)
	}
}

func TestSeriesOfARemovedTopicAreGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	config := r.config("", "")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	p := r.start(config)
	p.wantReady(10 * time.Second)
	r.write("sidecar.toml", strings.ReplaceAll(strings.ReplaceAll(string(text), "topic."+topic, "topic.other"), "fpm.default", "fpm.jobs")+"fpm = \"jobs\"\n")
	p.signal(syscall.SIGHUP)
	eventually(t, 10*time.Second, func() error {
		_, body, err := p.get("/metrics")
		for line := range strings.Lines(body) {
			if strings.Contains(line, `"`+topic+`"`) || strings.Contains(line, `pool="default"`) {
				return fmt.Errorf("still there: %s", line)
			}
		}
		return err
	})
	p.wantReady(10 * time.Second)
}

func TestHangupMendsTheBridge(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	p := r.start(r.config("", ""))
	p.wantReady(10 * time.Second)
	bridges, err := filepath.Glob(filepath.Join(r.fpm.Dir, "bridge", "bridge-*.php"))
	if err != nil || len(bridges) != 1 {
		t.Fatalf("bridges: %v, %v", bridges, err)
	}
	good, err := os.ReadFile(bridges[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bridges[0], bytes.Replace(good, []byte("<?php"), []byte("<?xml"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGHUP)
	eventually(t, 5*time.Second, func() error {
		now, err := os.ReadFile(bridges[0])
		if err == nil && !bytes.Equal(now, good) {
			err = fmt.Errorf("the bridge is as it was altered")
		}
		return err
	})
}

// An idle sidecar says that it could not run a job before it has to.
func TestAnIdleSidecarIsNotReadyWithoutFPM(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	p := r.start(r.config("", ""))
	p.wantReady(10 * time.Second)
	r.fpm.Stop()
	p.wantNotReady("php-fpm is not running", 3*time.Second)
	r.produce(1, 0, 0, 0)
	r.fpm.Start()
	r.wantEmpty(20 * time.Second)
	r.wantNoRetries()
	p.wantReady(5 * time.Second)
}
