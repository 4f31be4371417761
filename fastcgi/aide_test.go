package fastcgi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

const patience = 20 * time.Second

// echo is a file of the sidecar's own that tells what it was given.
const echo = `<?php
if (!isset($_SERVER['SIDECAR_TEST'])) { http_response_code(403); return; }
$body = file_get_contents('php://input');
if (is_numeric($body)) { usleep(1000 * (int) $body); }
echo "got ", $body;
`

func aide(r *rig, text string) *fastcgi.Aide {
	return r.pool.NewAide("aide", "SIDECAR_TEST", []byte(text))
}

func TestAnAideRunsItsFileAndReturnsWhatItPrints(t *testing.T) {
	r := newRig(t, testenv.StartFPM(t, testenv.FPMOptions{})).run()
	a := aide(r, echo)
	for _, body := range []string{"", "a body", strings.Repeat("x", 200_000)} {
		got, err := a.Ask(t.Context(), body, 300_000)
		if err != nil || string(got) != "got "+body {
			t.Errorf("body of %d bytes: got %.60q, %v", len(body), got, err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(r.fpm.Dir, "sidecar", "aide-*.php"))
	if len(files) != 1 {
		t.Fatalf("found %q, want the one file", files)
	}
	if err := os.Remove(files[0]); err != nil { // cleaners of /run come by night
		t.Fatal(err)
	}
	if got, err := a.Ask(t.Context(), "again", 100); err != nil || string(got) != "got again" {
		t.Errorf("after its file was removed: %q, %v", got, err)
	}
}

func TestAnAideSaysWhatWentWrong(t *testing.T) {
	r := newRig(t, testenv.StartFPM(t, testenv.FPMOptions{})).run()
	for text, want := range map[string]string{
		`<?php http_response_code(503); echo "not now";`:    "not now",
		`<?php echo str_repeat("x", 200000);`:               "has 200000 bytes, want at most 100",
		`<?php posix_kill(getmypid(), 9);`:                  "connection to php-fpm lost",
		`<?php error_log("because"); undefined_function();`: "undefined_function",
	} {
		if got, err := aide(r, text).Ask(t.Context(), "", 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %.60q, %v; want %q", text, got, err, want)
		}
	}
}

// One request is one slot: with the only one taken by a job it waits, and a job waits for it.
func TestAnAideTakesASlotOfThePool(t *testing.T) {
	r := newRig(t, testenv.StartFPM(t, testenv.FPMOptions{Children: 2}), func(o *fastcgi.PoolOptions) { o.Children = 1 }).run()
	topic := r.handler("ok")
	r.opened(topic)
	a := aide(r, echo)
	if topic.Acquire(t.Context(), 1) != 1 {
		t.Fatal("no slot")
	}
	waiting, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := a.Ask(waiting, "", 100); err == nil {
		t.Errorf("got %q without a slot", got)
	}
	topic.Release(1)
	if _, err := a.Ask(t.Context(), "", 100); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if topic.Acquire(ctx, 1) != 1 {
		t.Error("the slot has not come back")
	}
	topic.Release(1)
}

func TestAnAideIsNotWaitedForLongerThanItsCallerLikes(t *testing.T) {
	r := newRig(t, testenv.StartFPM(t, testenv.FPMOptions{})).run()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if got, err := aide(r, echo).Ask(ctx, "60000", 100); ctx.Err() == nil || err == nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// A deployed bridge is where FPM can read files of ours, and so is what lies beside it.
func TestAnAidesFileIsLookedForBesideADeployedBridge(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	f.Script("deployed/aide.php", strings.Replace(echo, "got", "deployed got", 1))
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.BridgePath = filepath.Join(f.Dir, "deployed/bridge.php") }).run()
	if got, err := aide(r, echo).Ask(t.Context(), "it", 100); err != nil || string(got) != "deployed got it" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAnAideOfAPoolThatIsDownSaysSo(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f).run()
	a := aide(r, echo)
	if _, err := a.Ask(t.Context(), "", 100); err != nil {
		t.Fatal(err)
	}
	f.Stop()
	_, err := a.Ask(t.Context(), "", 100)
	if err == nil || !strings.Contains(fmt.Sprint(err), "php-fpm is not running") {
		t.Errorf("got %v", err)
	}
	f.Start()
	testenv.Poll(t, patience, "the pool to be back", func() bool {
		_, err := a.Ask(t.Context(), "", 100)
		return err == nil
	})
}
