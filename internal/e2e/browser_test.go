package e2e

import (
	"context"
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
const browserPatience = 20 * time.Second

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
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
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

// click clicks what CSS or XPath finds, and waits for the page behind it. An open page keeps itself fresh: what was found may be
// another one's by the time of the click, and is looked for again.
func (b *browser) click(what string) {
	b.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
		err := chromedp.Do(ctx, chromedp.Click(chromedp.Search(what)))
		cancel()
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "Could not find node") {
			b.t.Fatalf("click %s: %v\n%s", what, err, b.text())
		}
	}
}

// text is what the page shows.
func (b *browser) text() (text string) {
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Second)
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

// wantNoSidewaysScrolling fails where the page is wider than its window.
func (b *browser) wantNoSidewaysScrolling(path string) {
	b.t.Helper()
	const widest = `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('pre, .scroll, .unseen'))
		.slice(0, 3).map(e => e.tagName + '.' + e.className).join(', ')`
	if value[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
		b.t.Errorf("%s is %d px wide in a window of %d: %s", path, value[int](b, `document.documentElement.scrollWidth`), value[int](b, `innerWidth`), value[string](b, widest))
	}
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
