package fastcgi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

// signed is the line that the bridge prints.
func signed(n nonce, text string) string {
	payload := base64.StdEncoding.EncodeToString([]byte(text))
	sum := sha256.Sum256([]byte(string(n) + ":" + payload))
	return signWord + hex.EncodeToString(sum[:]) + " " + payload + "\n"
}

func TestOnlyTheHolderOfTheNonceSigns(t *testing.T) {
	n, other := newNonce(), newNonce()
	if n == other || len(n) != 32 {
		t.Fatalf("nonces %q, %q", n, other)
	}
	failed, done := signed(n, `{"v":"failed"}`), signed(n, `{"v":"done","ms":1.5}`)
	forged := signed(other, `{"v":"done"}`)
	tests := map[string]struct{ output, verdict, left string }{
		"alone":                {done, "done", ""},
		"behind output":        {"text" + done, "done", "text"},
		"before output":        {done + "text", "done", "text"},
		"the last one counts":  {done + "x" + failed, "failed", done + "x"},
		"a forged one is text": {failed + forged, "failed", forged},
		"only a forged one":    {"text" + forged, "", ""},
		"cut":                  {done[:len(done)-1], "", ""},
		"cut in its payload":   {done[:len(done)-9] + "\n", "", ""},
		"no JSON":              {signed(n, `{"v":`), "", ""},
		"empty":                {"", "", ""},
		"a bare word":          {signWord, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, start, end, ok := n.find([]byte(tt.output))
			if ok != (tt.verdict != "") || s.Verdict != tt.verdict {
				t.Fatalf("found %v %+v, want %q", ok, s, tt.verdict)
			}
			if ok && tt.output[:start]+tt.output[end:] != tt.left {
				t.Errorf("left %q, want %q", tt.output[:start]+tt.output[end:], tt.left)
			}
		})
	}
}

func TestHelloIsFoundHoweverItIsCut(t *testing.T) {
	n := newNonce()
	text := "PHP message: PHP Warning:  x; PHP message: ; PHP message: sidecar-hello " + n.id() + " pid=4711 php=8.2.36; PHP message: more"
	for at := range len(text) {
		w := newHelloWatch(n)
		found := 0
		for _, piece := range []string{strings.Repeat("noise ", 500), text[:at], text[at:]} {
			if g, ok := w.see([]byte(piece)); ok {
				found++
				if g.pid != 4711 {
					t.Fatalf("cut at %d: %+v", at, g)
				}
				break
			}
		}
		if found != 1 {
			t.Fatalf("cut at %d: not found", at)
		}
	}
	w := newHelloWatch(newNonce())
	if g, ok := w.see([]byte(text)); ok {
		t.Errorf("another run's hello is taken: %+v", g)
	}
}

func TestHelloIsTakenOutOfStderr(t *testing.T) {
	n := newNonce()
	hello := "PHP message: ; PHP message: sidecar-hello " + n.id() + " pid=1 php=8.2.36"
	for text, want := range map[string]string{
		hello:                      "",
		hello + "; PHP message: x": "PHP message: x",
		"PHP message: a; " + hello: "PHP message: a; ",
		"nothing of ours":          "nothing of ours",
		"sidecar-hello " + n.id():  "",
		"PHP message: a; " + hello + "; PHP message: b": "PHP message: a; PHP message: b",
	} {
		if got := string(n.withoutHello([]byte(text))); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestKeptIsBoundedAndHoldsBothEnds(t *testing.T) {
	var all bytes.Buffer
	k := kept{limit: 1000}
	for i := range 400 {
		piece := bytes.Repeat([]byte{byte(i)}, i*17)
		all.Write(piece)
		k.add(piece)
		head, tail := k.all()
		if !bytes.HasPrefix(all.Bytes(), head) || !bytes.HasSuffix(all.Bytes(), k.last()) {
			t.Fatalf("after %d bytes the ends are wrong", all.Len())
		}
		if tail == nil && len(head) != all.Len() {
			t.Fatalf("%d of %d bytes, called whole", len(head), all.Len())
		}
		if len(k.last()) < min(all.Len(), tailKept) || len(k.head)+len(k.tail) > 1000+2*tailKept {
			t.Fatalf("after %d bytes: head %d, tail %d", all.Len(), len(k.head), len(k.tail))
		}
	}
	k = kept{}
	k.add(make([]byte, 10*tailKept))
	if len(k.last()) < tailKept || k.size != 10*tailKept {
		t.Errorf("one huge piece: %d kept of %d", len(k.last()), k.size)
	}
}
