package e2e

import (
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// dashboardRig is a shop with a topic whose jobs fail until it is mended, and others beside it.
func dashboardRig(t *testing.T) (*rig, *instance) {
	t.Helper()
	r := newRigWith(t, testenv.FPMOptions{Children: 4})
	r.copyScript("dashboard.php")
	r.write("broken", "")
	r.script = "dashboard.php"
	undo := filepath.Join(t.TempDir(), "undo")
	config := r.config("timezone = \"Asia/Shanghai\"\n", "retry = [\"20ms\"]\n")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	admin := fmt.Sprintf("[admin]\nwrite = true\nshow_payload = true\nundo_dir = %q\n", undo)
	more := fmt.Sprintf("[topic.invoice_pdf]\nscript = %q\n[topic.coupon_expire]\nscript = %q\n[list.send_sms]\nkey = \"queue:prod:sms\"\ndead = \"queue:prod:dead_letter\"\nscript = %q\n",
		filepath.Join(r.dir, "missing.php"), filepath.Join(r.dir, "dashboard.php"), filepath.Join(r.dir, "dashboard.php"))
	r.write("sidecar.toml", strings.Replace(string(text), "[admin]\n", admin, 1)+more)
	return r, r.start(config)
}

// The sidecar's own bounds, for minutes of others are not added: the pictures would have no p50 then.
var (
	runBounds  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	lateBounds = []float64{.0005, .001, .002, .003, .005, .01, .015, .025, .05, .1, .25, .5, 1, 5, 30, 300}
)

// busyHour is what a neighbour did in this shop before: an evening on which one gateway was down for some minutes. The
// charts of the pictures show it.
func busyHour(t testing.TB, r *rig) {
	t.Helper()
	perMinute := []float64{42, 18, 7, 95}
	neighboursHour(t, r.rdb, []string{topic, "coupon_expire", "invoice_pdf", "send_sms"}, func(at int64, i int) queue.TopicMinute {
		phase := float64(at%60) / 60
		done := int64(perMinute[i] * (1 + 0.5*math.Sin(2*math.Pi*phase+float64(i)) + 0.1*math.Sin(30*phase)))
		failed := done / 40
		if i == 0 && at%60 >= 20 && at%60 < 26 {
			failed = done / 2
		}
		run := make([]int64, len(runBounds)+1)
		run[4+i%2], run[5+i%2], run[7] = done-done/10, done/10, failed
		return queue.TopicMinute{
			Outcomes: map[string]int64{"done": done, "failed": failed}, Left: done, Run: run, Late: make([]int64, len(lateBounds)+1),
			Depths: &queue.Reading{Pool: 3 * done, Due: done / 10, Ready: done / 20, OldestDue: 1},
		}
	})
}

// pushTo puts a job into a topic's pool, due after a delay.
func (r *rig) pushTo(topic, uuid string, delay time.Duration) {
	r.t.Helper()
	now, err := r.rdb.Time(r.t.Context()).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	due := now.Add(delay)
	text := fmt.Sprintf(`{"uuid":%q,"order_id":788000,"phone":"13812345678","created_at":%d,"note":"</script><b>bold</b>"}`, uuid, now.Unix()) //nolint:forbidigo // as a producer on this host does
	if err := r.rdb.ZAdd(r.t.Context(), "delay:pool:"+topic, redis.Z{Score: float64(due.UnixMilli()), Member: text}).Err(); err != nil {       //nolint:forbidigo // likewise
		r.t.Fatal(err)
	}
}

func (r *rig) wantSoManyDead(n int64) {
	r.t.Helper()
	eventually(r.t, browserPatience, func() error {
		if got := r.depths().dead; got != n {
			return fmt.Errorf("%d dead, want %d", got, n)
		}
		return nil
	})
}

func (r *rig) wantRun(uuid string) {
	r.t.Helper()
	eventually(r.t, browserPatience, func() error {
		if got := r.runs("E")[uuid]; got != 1 {
			return fmt.Errorf("%s ran %d times, want once", uuid, got)
		}
		return nil
	})
}

func TestPeopleSeeAndPutRightInABrowserWhatIsWrong(t *testing.T) {
	t.Parallel()
	r, p := dashboardRig(t)
	busyHour(t, r)
	for i := range 3 {
		r.pushTo(topic, fmt.Sprintf("ord_web_20261130_%03d", i), 0)
		r.pushTo(topic, fmt.Sprintf("ord_app_20261130_%03d", i), time.Hour)
		r.pushTo("invoice_pdf", fmt.Sprintf("inv_%03d", i), 0)
	}
	r.wantSoManyDead(3)
	eventually(t, browserPatience, func() error {
		if p.address() == "" {
			return fmt.Errorf("no address of the admin server in the log")
		}
		return nil
	})
	b := openBrowser(t, "http://"+p.address()+"/")
	if !t.Run("overview, topic, dead job, replay, it runs", func(t *testing.T) { b.t, r.t = t, t; replayInBrowser(b, r) }) {
		return
	}
	t.Run("pause and resume", func(t *testing.T) { b.t, r.t = t, t; pauseInBrowser(b, r, p) })
	t.Run("an open page keeps itself fresh", func(t *testing.T) { b.t, r.t = t, t; freshInBrowser(b, r) })
	t.Run("drop and take back", func(t *testing.T) { b.t, r.t = t, t; dropInBrowser(b, r) })
	t.Run("search", func(t *testing.T) { b.t = t; searchInBrowser(b) })
	t.Run("chinese", func(t *testing.T) { b.t = t; chineseInBrowser(b) })
	t.Run("dark", func(t *testing.T) { b.t = t; darkInBrowser(b) })
	t.Run("a phone", func(t *testing.T) { b.t = t; phoneInBrowser(b) })
	t.Run("without JavaScript", func(t *testing.T) { b.t = t; plainInBrowser(b) })
	b.t, r.t = t, t
}

func replayInBrowser(b *browser, r *rig) {
	b.open("")
	b.want("Wrong right now", "One topic cannot reach its code:", topic, "invoice_pdf", "missing.php: does not exist")
	b.picture("overview")
	b.click(`//table//th/a[. = "` + topic + `"]`)
	b.want("payment gateway answered 502 Bad Gateway", "The last hour", "3 shown, 3 in the key")
	b.click(`//a[contains(., "ord_web_20261130_001")]`)
	b.want("It is dead:", "Mend what the error says, then replay it.", `"order_id": 788000`, "</script><b>bold</b>", "Why it is dead")
	if text := b.text(); strings.Contains(text, "13812345678") {
		b.t.Error("the phone number is not masked")
	}
	b.picture("job")
	if err := os.Remove(filepath.Join(r.dir, "broken")); err != nil {
		b.t.Fatal(err)
	}
	b.click(`//main//button[. = "Replay"]`)
	b.want("One job of topic "+topic, "Leave their tries as they are")
	b.click(`//main//button[. = "Replay"]`)
	b.want("One job was replayed.", "Take back")
	r.wantRun("ord_web_20261130_001")
	r.wantSoManyDead(2)
}

func pauseInBrowser(b *browser, r *rig, p *instance) {
	b.open("topic?t=" + topic)
	b.click(`//summary[. = "Pause"]`)
	b.do("give a reason", chromedp.SendKeys(chromedp.CSS(`input[name=reason]`), "gateway maintenance"))
	b.click(`//button[. = "Pause …"]`)
	b.want(topic + " is paused for 10 min.")
	b.click(`//main//button[. = "Pause"]`)
	b.want("The topic is paused.", "gateway maintenance", "Until")
	eventually(b.t, browserPatience, func() error { // sidecars look for pauses every now and then
		if p.metric(`sidecar_paused{kind="manual",topic="`+topic+`"}`) != 1 {
			return fmt.Errorf("the sidecar does not know of the pause")
		}
		return nil
	})
	r.pushTo(topic, "while_paused", 0)
	b.want("1 due, 0 ready") // the page has looked again since it was pushed
	if r.runs("E")["while_paused"] != 0 {
		b.t.Error("a job of a paused topic ran")
	}
	b.click(`//main//button[. = "Resume"]`)
	b.want("The topic is resumed.")
	r.wantRun("while_paused")
}

func freshInBrowser(b *browser, r *rig) {
	b.open("topic?t=" + topic + "&k=pool")
	b.want("3 shown, 3 in the key", "live")
	r.pushTo(topic, "fresh_1", 2*time.Hour)
	b.want("4 shown, 4 in the key", "fresh_1")
	if value[int](b, `performance.getEntriesByType('navigation').length`) != 1 {
		b.t.Error("the page was loaded again")
	}
}

func dropInBrowser(b *browser, r *rig) {
	b.open("topic?t=" + topic + "&k=dead&error=gateway")
	b.click(`//button[. = "Drop all that match"]`)
	b.want("2 jobs of topic "+topic, "To be sure, type the topic's name")
	b.do("type the name", chromedp.SendKeys(chromedp.CSS(`input[name=name]`), topic))
	b.click(`//main//button[. = "Drop"]`)
	b.want("2 jobs were dropped.")
	r.wantSoManyDead(0)
	b.click(`//button[. = "Take back"]`)
	b.want("is taken back, as far as")
	b.click(`//main//button[. = "Take back"]`)
	b.want("2 jobs are back where they were.")
	r.wantSoManyDead(2)
	b.open("audit")
	b.want("dropped", "took back", "replayed", "paused", "resumed", "web 127.0.0.1")
}

func searchInBrowser(b *browser) {
	b.open("search")
	b.do("type an id", chromedp.SendKeys(chromedp.CSS(`input[name=q]`), "ord_app_20261130_002\n"))
	b.want("ord_app_20261130_002", "jobs were looked through.", "Pool")
	b.open("search?how=prefix&q=ord_")
	b.want("Groups:", "ord_app 3", "ord_web 2", "ord_web_20261130_000")
	b.open("search?q=" + url.QueryEscape("nobody<b>"))
	b.want("No job has such an id now.")
}

func chineseInBrowser(b *browser) {
	b.open("topic?t=" + topic + "&lang=zh")
	b.want("总览", "死信", "最近一小时", "暂停")
	if got := value[string](b, `document.documentElement.lang`); got != "zh-CN" {
		b.t.Errorf("lang = %q", got)
	}
	b.open("") // the choice is remembered
	b.want("当前问题", "主题")
	b.picture("overview-zh")
	b.open("?lang=en")
}

func darkInBrowser(b *browser) {
	ground := func() string { return value[string](b, `getComputedStyle(document.body).backgroundColor`) }
	b.scheme("light")
	b.open("")
	light := ground()
	b.scheme("dark")
	if dark := ground(); dark == light || dark != "rgb(16, 21, 28)" {
		b.t.Errorf("the ground is %s in the light and %s in the dark", light, dark)
	}
	b.picture("overview-dark")
	b.scheme("light")
}

func phoneInBrowser(b *browser) {
	b.width(400, 850)
	for _, lang := range []string{"en", "zh"} {
		for _, path := range []string{"?", "topic?t=" + topic + "&k=dead", "topic?t=" + topic + "&k=pool", "search?q=ord_&how=prefix", "sidecars?", "audit?", "nowhere?"} {
			b.open(path + "&lang=" + lang)
			b.wantNoSidewaysScrolling(path)
		}
	}
	b.open("topic?t=" + topic + "&k=dead&lang=en")
	b.picture("topic-phone")
	b.click(`//a[contains(., "ord_web")]`)
	b.want("Why it is dead")
	b.wantNoSidewaysScrolling("job")
	b.width(1280, 800)
}

func plainInBrowser(b *browser) {
	b.scripts(false)
	defer b.scripts(true)
	b.open("")
	b.want("Wrong right now", topic)
	b.click(`//table//th/a[. = "` + topic + `"]`)
	b.want("payment gateway answered 502 Bad Gateway", "The last hour")
	b.click(`//a[contains(., "ord_web_20261130_000")]`)
	b.want("It is dead:")
	b.click(`//main//button[. = "Replay"]`)
	b.want("Go back, change nothing")
	found := ""
	for page := "search?how=prefix&q=ord_app"; page != ""; { // on a busy machine one step does not get through all topics
		b.open(page)
		found += b.text()
		page = value[string](b, `(document.querySelector('#search-progress a[href^="search?c="]') || { getAttribute: () => '' }).getAttribute('href')`)
	}
	if !strings.Contains(found, "ord_app_20261130_000") || !strings.Contains(found, "jobs were looked through.") {
		b.t.Errorf("the search without scripts shows:\n%s", found)
	}
}
