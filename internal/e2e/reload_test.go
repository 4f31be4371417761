package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReloadRefusesABadConfigurationAndKeepsTheOld(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	config := r.config("", "")
	p := r.start(config)
	p.wantReady(10 * time.Second)

	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	r.write("sidecar.toml", string(good)+"\nleese = \"3s\"\n")
	p.signal(syscall.SIGHUP)
	eventually(t, 5*time.Second, func() error {
		if p.count("reload refused") != 1 {
			return fmt.Errorf("the log does not say that the reload was refused")
		}
		return nil
	})
	if p.count("leese") == 0 {
		t.Error("the log does not name the wrong key")
	}
	told := func(want bool) func() error {
		return func() error {
			beats := fmt.Sprint(r.rdb.HVals(t.Context(), "sidecar:alive").Val())
			if got := strings.Contains(beats, "reload_refused") && strings.Contains(beats, "leese"); got != want {
				return fmt.Errorf("told of: %t, want %t in %s", got, want, beats)
			}
			return nil
		}
	}
	eventually(t, time.Minute, told(true)) // by the next heartbeat
	r.produce(10, 0, 0, 0)
	r.wantEmpty(10 * time.Second)
	r.wantOneRunEach(10)

	r.write("sidecar.toml", string(good))
	p.signal(syscall.SIGHUP)
	eventually(t, time.Minute, told(false))
}

func TestReloadUnderLoadSwitchesWithoutLosingAJob(t *testing.T) {
	jobs := 600
	r := newRig(t, 4)
	config := r.config("", "")
	p := r.start(config)
	p.wantReady(10 * time.Second)
	r.produce(jobs, 500, 0, 6)
	base, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		r.pushSleepers(fmt.Sprint("round", i), 60, 6) // or a slow reload would leave none for the next
		jobs += 60
		r.wantStarted(r.marked("S") + 20)
		// Another pool under the same name, then another topic on it: both take over from running ones.
		children := strings.Replace(string(base), "children = 4", fmt.Sprintf("children = %d", 4-i/2), 1)
		r.write("sidecar.toml", children+fmt.Sprintf("workers = %d\n", i%2+1))
		p.reload(i + 1)
	}
	r.wantEmpty(time.Minute)
	r.wantOneRunEach(jobs)
	r.wantNoRetries()
}

func TestHangupWithNothingChangedIsHarmless(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	p := r.start(r.config("", ""))
	p.wantReady(10 * time.Second)
	for i := range 20 {
		p.signal(syscall.SIGHUP)
		eventually(t, 5*time.Second, func() error {
			if p.count("nothing has changed") < i+1 {
				return fmt.Errorf("reload %d is not in the log", i+1)
			}
			return nil
		})
	}
	r.produce(10, 0, 0, 0)
	r.wantEmpty(10 * time.Second)
}

// Lines a run are wanted when something is wrong: then, and not after a restart that puts it right.
func TestAReloadChangesWhatIsLoggedAndSaysWhatAStartWould(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	p := r.start(r.config("", ""))
	p.wantReady(10 * time.Second)
	r.config("log_level = \"debug\"\nlog = \"json\"\n", "")
	p.signal(syscall.SIGHUP)
	eventually(t, 5*time.Second, func() error {
		for _, want := range []string{
			`msg="reload: option changed" table="" option=log_level from=INFO to=DEBUG`,
			`msg="reload: this option takes effect at the next start only" table="" option=log from=text to=json`,
		} {
			if p.count(want) != 1 {
				return fmt.Errorf("not in the log, once: %s", want)
			}
		}
		return nil
	})
	r.produce(1, 0, 0, 0)
	r.wantEmpty(10 * time.Second)
	p.wantLogged(`level=DEBUG msg="run ended"`, 1)
}

func TestASecondSidecarWithTheSamePIDFileIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	pidFile := filepath.Join(r.dir, "consumer.pid")
	config := r.config(fmt.Sprintf("pid_file = %q", pidFile), "")
	first := r.start(config)
	first.wantReady(10 * time.Second)
	second := r.start(config)
	second.wantExit(1, 10*time.Second)
	if !strings.Contains(strings.Join(second.lines(), "\n"), fmt.Sprint(first.cmd.Process.Pid)) {
		t.Errorf("the refusal does not name the holder:\n%s", strings.Join(second.lines(), "\n"))
	}
}

// More children, a shorter ladder, another pool, then fewer workers: each holds for the runs that begin after the reload.
func TestAReloadChangesConcurrencyLadderAndPoolWhileJobsRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	config := r.config("", `retry = ["1h"]`)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	r.write("sidecar.toml", strings.Replace(string(text), "children = 4", "children = 1", 1))
	p := r.start(config)
	p.wantReady(20 * time.Second)
	for i := range 12 {
		r.pushReady(fmt.Sprintf(`{"uuid":"slow%d","sleep_ms":300}`, i))
	}
	r.pushReady(`{"uuid":"again","fail_once":true}`)
	r.wantStarted(2)
	if used := p.metric(`sidecar_fpm_slots_used{pool="default"}`); used > 1 {
		t.Errorf("%v slots are used, want one", used)
	}
	other := fmt.Sprintf("[fpm.other]\nlisten = %q\nchildren = 4\nbridge_dir = %q\n\n[topic", r.fpm.Listen, filepath.Join(r.fpm.Dir, "bridge"))
	wide := strings.Replace(strings.Replace(string(text), "[topic", other, 1), `["1h"]`, "[\"50ms\"]\nfpm = \"other\"", 1)
	r.write("sidecar.toml", wide)
	p.reload(1)
	eventually(t, 5*time.Second, func() error {
		if used := p.metric(`sidecar_fpm_slots_used{pool="other"}`); used < 3 {
			return fmt.Errorf("%v slots of the new pool are used", used)
		}
		return nil
	})
	r.wantEmpty(10 * time.Second)
	r.wantOneRunEach(13)
	if r.runs("S")["again"] != 2 {
		t.Errorf("again ran %d times, want twice, by the new ladder", r.runs("S")["again"])
	}
	r.pushReady(`{"uuid":"in hand 1","wait":"reloaded"}`, `{"uuid":"in hand 2","wait":"reloaded"}`)
	r.wantFirst("in hand 2", 5*time.Second)
	r.write("sidecar.toml", wide+"workers = 1\n")
	p.reload(2)
	for i := range 4 {
		r.pushReady(fmt.Sprintf(`{"uuid":"single%d","sleep_ms":50}`, i))
	}
	r.write("reloaded", "")
	r.wantEmpty(10 * time.Second)
	r.wantOneRunEach(19)
	r.wantOneAtATime("single")
}

// wantOneAtATime holds that of the jobs whose uuids begin so none began while another ran.
func (r *rig) wantOneAtATime(prefix string) {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "runs.log"))
	if err != nil {
		r.t.Fatal(err)
	}
	runs := ""
	for line := range strings.Lines(string(b)) {
		if mark, uuid, _ := strings.Cut(line, " "); strings.HasPrefix(uuid, prefix) {
			runs += mark
		}
	}
	if strings.ReplaceAll(runs, "SE", "") != "" {
		r.t.Errorf("they began and ended as %s", runs)
	}
}
