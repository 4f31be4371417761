package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// browserPatience is how long one step in the browser may take: the first one starts it, on a machine under load.
const browserPatience = 30 * time.Second

// browser is a tab of a real chromium that looks at a sidecar's dashboard.
type browser struct {
	t    testing.TB
	ctx  context.Context //nolint:containedctx // chromedp keeps the tab in it
	root string
}

// openBrowser starts chromium.
func openBrowser(t testing.TB, root string) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("want Debian's chromium (make deps): %v", err)
	}
	data, err := os.MkdirTemp("", "sidecar-chromium-") // not t.TempDir: its processes may write for a moment after its end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(data), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en"), chromedp.WindowSize(1280, 800))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx); err != nil { // the first one's context is the browser's, and bounds its life
		t.Fatalf("start chromium: %v", err)
	}
	return &browser{t: t, ctx: ctx, root: root}
}

// do takes steps one after the other.
func (b *browser) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v\n%s", what, err, b.text())
	}
}

// open goes to a page.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do("open "+path, chromedp.Navigate(b.root+path), chromedp.WaitReady(chromedp.CSS("main")))
}

// clicked finds what CSS or XPath names, looks whether a mouse would hit it, and clicks it, or says why not. An open page keeps
// itself fresh: in several steps, what was found would now and then be gone or elsewhere by the time of the click.
const clicked = `((what) => {
	const found = what.startsWith('/') ? document.evaluate(what, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue : document.querySelector(what);
	if (!found) { return 'it is not on the page'; }
	found.scrollIntoView({ behavior: 'instant', block: 'center' });
	const box = found.getClientRects()[0];
	if (!box) { return 'it is not shown'; }
	const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
	if (!found.contains(hit)) { return 'a mouse would hit ' + (hit ? hit.outerHTML.slice(0, 200) : 'nothing'); }
	found.focus();
	found.click();
	return '';
})(%s)`

// click clicks what CSS or XPath finds as soon as it can be clicked.
func (b *browser) click(what string) {
	b.t.Helper()
	name, err := json.Marshal(what)
	if err != nil {
		b.t.Fatal(err)
	}
	eventually(b.t, browserPatience, func() error {
		ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
		defer cancel()
		why, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(clicked, name)))
		if err == nil && why != "" {
			err = fmt.Errorf("click %s: %s\n%s", what, why, b.text())
		}
		return err
	})
}

// text is what the page shows.
func (b *browser) text() (text string) {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	text, _ = chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	return text
}

// want waits until the page shows all of these.
func (b *browser) want(texts ...string) {
	b.t.Helper()
	eventually(b.t, browserPatience, func() error {
		shown := b.text()
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return fmt.Errorf("page does not show %q but:\n%s", text, shown)
			}
		}
		return nil
	})
}

// value is that of an expression of JavaScript.
func value[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// width makes the window so wide, as a phone's where it is narrow.
func (b *browser) width(pixels, height int64) {
	b.t.Helper()
	b.do("resize", chromedp.EmulateViewport(pixels, height))
}

// wantNoSidewaysScrolling waits until the page is no wider than its window: its style may come a moment after its text.
func (b *browser) wantNoSidewaysScrolling(path string) {
	b.t.Helper()
	const widest = `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('pre, .scroll, .unseen'))
		.slice(0, 3).map(e => e.tagName + '.' + e.className).join(', ')`
	eventually(b.t, 2*time.Second, func() error {
		if !value[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
			return nil
		}
		return fmt.Errorf("%s is %d px wide in a window of %d: %s", path, value[int](b, `document.documentElement.scrollWidth`), value[int](b, `innerWidth`), value[string](b, widest))
	})
}

func (b *browser) scripts(on bool) {
	b.t.Helper()
	b.do("switch JavaScript", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	}))
}

func (b *browser) scheme(name string) {
	b.t.Helper()
	prefers := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}
	b.do("prefer "+name, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, prefers)
		return err
	}))
}

// anonymous are the steps before a picture: the machine's name and directories in it would be new each time, and nobody's.
const anonymous = `{
	const host = %q, walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const n = walk.currentNode;
		n.data = n.data.replace(/\/tmp\/[^\s:"]*\//g, '/srv/shop/jobs/').replaceAll(host, 'web1');
	}
}`

// picture writes what is seen into the directory that SCREENSHOTS names: make screenshots. Else it only looks whether it can.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		dir = b.t.TempDir()
	}
	host, err := os.Hostname()
	if err != nil {
		b.t.Fatal(err)
	}
	value[string](b, fmt.Sprintf(anonymous, host)+`''`)
	ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
