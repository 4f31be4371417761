package dash_test

import (
	"strings"
	"testing"
	"time"

	"sidecar/internal/dash"
)

// jobPage is the page of job in a language.
func jobPage(t *testing.T, job dash.JobView, lang string) string {
	t.Helper()
	s := busySource(1)
	job.Now, job.Row.Ref = fakeNow, "d0"
	s.job = job
	return get(t, s, writer, "job?t=order_timeout&ref=d0&lang="+lang).Body.String()
}

func TestFailuresAndCrashesAreToldApartAndAsManyAsThereWere(t *testing.T) {
	dead := func(tries, crashes int) dash.JobRow {
		return dash.JobRow{Key: dash.KeyDead, Tries: tries, Crashes: crashes}
	}
	waits := func(tries, crashes int) dash.JobRow {
		return dash.JobRow{Key: dash.KeyPool, Due: fakeNow.Add(time.Minute), Tries: tries, Crashes: crashes}
	}
	for name, tt := range map[string]struct {
		row       dash.JobRow
		en, zh    []string
		neither   string
		neitherZh string
	}{
		"its ladder is used up": {
			dead(6, 0),
			[]string{"It is dead:", "It has failed 6 times.", "failed 6 times; retries allowed: 5"},
			[]string{"已成为死信：", "已失败 6 次。", "失败 6 次，允许重试 5 次"},
			"PHP process", "重试 6",
		},
		"it was rejected at once": {dead(0, 0), []string{"It is dead:", "failed 0 times; retries allowed: 5"}, []string{"已成为死信：", "失败 0 次，"}, "It has failed", "已失败"},
		"it crashed":              {dead(0, 3), []string{"It has taken its PHP process with it 3 times."}, []string{"已致 PHP 进程崩溃 3 次。"}, "It has failed", "已失败"},
		"it waits after both": {
			waits(2, 1),
			[]string{"It waits for its next try, in 1 min.", "It has failed 2 times.", "It has taken its PHP process with it once.", "failed 2 times; retries"},
			[]string{"等待重试，还有 1 分。", "已失败 2 次。", "已致 PHP 进程崩溃 1 次。"},
			"3 times", "失败 3",
		},
		"it waits after one": {waits(1, 0), []string{"It has failed once.", "failed once; retries allowed: 5"}, []string{"已失败 1 次。", "失败 1 次，允许重试 5 次"}, "1 times", "PHP 进程崩溃"},
	} {
		t.Run(name, func(t *testing.T) {
			en, zh := jobPage(t, dash.JobView{Row: tt.row, MaxTries: 5}, "en"), jobPage(t, dash.JobView{Row: tt.row, MaxTries: 5}, "zh")
			for page, texts := range map[string][]string{en: tt.en, zh: tt.zh} {
				for _, text := range texts {
					if !strings.Contains(page, text) {
						t.Errorf("page lacks %q", text)
					}
				}
			}
			if strings.Contains(en, tt.neither) || strings.Contains(zh, tt.neitherZh) {
				t.Errorf("page has %q or %q", tt.neither, tt.neitherZh)
			}
		})
	}
}

func TestOnlyTheErrorOfADeadJobIsWhyItIsDead(t *testing.T) {
	for key, want := range map[string]string{dash.KeyDead: "Why it is dead", dash.KeyReady: "What the last try said", dash.KeyPool: "What the last try said"} {
		page := jobPage(t, dash.JobView{Row: dash.JobRow{Key: key, Error: "boom"}}, "en")
		for _, title := range []string{"Why it is dead", "What the last try said"} {
			if got := strings.Contains(page, title); got != (title == want) {
				t.Errorf("job in %s: page has %q: %t", key, title, got)
			}
		}
	}
}

func TestAJobBehindAHeldTopicIsNotToldToRunAtOnce(t *testing.T) {
	for key, says := range map[string]string{dash.KeyReady: "as soon as one of the slots", dash.KeyPool: "It is its turn within a moment."} {
		row := dash.JobRow{Key: key, Due: ago(time.Minute)}
		if page := jobPage(t, dash.JobView{Row: row}, "en"); !strings.Contains(page, says) {
			t.Errorf("%s: page lacks %q", key, says)
		}
		page := jobPage(t, dash.JobView{Row: row, State: dash.State{Paused: &dash.Paused{By: "x"}}}, "en")
		if strings.Contains(page, says) || !strings.Contains(page, "when what stands before is over") {
			t.Errorf("%s: the page of a job whose topic is paused says that it runs", key)
		}
	}
}

func TestATextIsCalledCutOnlyWhereItIs(t *testing.T) {
	for name, tt := range map[string]struct {
		raw string
		cut bool
	}{
		"30,000 Chinese characters, 90,000 bytes": {strings.Repeat("单", 30_000), false},
		"as many characters as are shown":         {strings.Repeat("单", 64<<10), false},
		"one more":                                {strings.Repeat("单", 64<<10+1), true},
		"one byte more":                           {strings.Repeat("a", 64<<10+1), true},
	} {
		page := jobPage(t, dash.JobView{Row: dash.JobRow{Key: dash.KeyReady}, Payload: dash.Payload{Shown: true, Raw: tt.raw}}, "en")
		if got := strings.Contains(page, "Only its beginning is shown"); got != tt.cut {
			t.Errorf("%s: called cut: %t", name, got)
		}
	}
}
