package app

import (
	"strings"
	"testing"

	"sidecar/internal/dash"
	"sidecar/internal/mask"
	"sidecar/queue"
)

func TestATraceShowsNoArgumentsUnlessPayloadsAreShown(t *testing.T) {
	p := &panel{mask: mask.New(nil)}
	trace := "#0 /srv/Send.php(12): Mailer->send('Dear Bob, it's', Array, 5)\n#1 [internal function]: run('two\nlines (hidden)', 1)\n#2 {main}"
	got := p.trace(t.Context(), trace)
	if want := "#0 /srv/Send.php(12): Mailer->send(…)\n#1 [internal function]: run(…)\n#2 {main}"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := p.trace(dash.WithViewer(t.Context(), dash.Viewer{ShowPayload: true}), trace); got != trace {
		t.Errorf("with permission it is\n%s", got)
	}
}

// Ten thousand brackets, indented, would be two hundred megabytes.
func TestADeepTextIsShownAsItStands(t *testing.T) {
	p := &panel{mask: mask.New(nil)}
	text := `{"uuid":"a","x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}"
	got := p.payload(dash.WithViewer(t.Context(), dash.Viewer{ShowPayload: true}), queue.Entry{Job: text, Stored: text})
	if got.Pretty != "" || got.Raw != text {
		t.Errorf("%d bytes of it are indented, %d raw", len(got.Pretty), len(got.Raw))
	}
}

func TestATextReadsInItsLettersAndItsMasksStay(t *testing.T) {
	p := &panel{mask: mask.New([]string{"name"})}
	text := `{"note":"\u8ba2\u5355 <b>x<\/b>\u202e","name":"\u5f20\u4e09","tel":"\u0031\u0033\u0038\u0031\u0032\u0033\u0034\u0035\u0036\u0037\u0038"}`
	got := p.payload(dash.WithViewer(t.Context(), dash.Viewer{ShowPayload: true}), queue.Entry{Job: text, Stored: text})
	if !strings.Contains(got.Pretty, `"note": "订单 <b>x</b>\u202e"`) || strings.Contains(got.Pretty, "张") || strings.Contains(got.Pretty, "138") || !strings.Contains(got.Raw, `\u8ba2\u5355 <b>x<\/b>`) {
		t.Errorf("it reads as %s and stands as %s", got.Pretty, got.Raw)
	}
}
