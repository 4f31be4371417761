package fastcgi

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

const (
	helloWord = "sidecar-hello "
	signWord  = "\nsidecar-verdict "
)

// nonce names one run, and is a part of what signs its verdict. Code that looks for it finds it by getenv(), which
// PHP cannot undo; the other part is a secret that the bridge makes, and tells with the hello.
type nonce string

func newNonce() nonce {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return nonce(hex.EncodeToString(b[:]))
}

// with returns what signs verdicts from the hello on. A bridge that was deployed with an older sidecar has no secret.
func (n nonce) with(secret string) nonce { return n + nonce(secret) }

// id names the run where others may read it: in stderr, and on the report socket.
func (n nonce) id() string {
	sum := sha256.Sum256([]byte("hello:" + n))
	return hex.EncodeToString(sum[:8])
}

// sign is the bridge's verdict on a run.
type sign struct {
	Verdict string  `json:"v"`
	Error   string  `json:"error"`
	Trace   string  `json:"trace"`
	DelayMS float64 `json:"delay_ms"`
	BootMS  float64 `json:"boot_ms"`
	MS      float64 `json:"ms"`
	Memory  int64   `json:"mem"`
}

// open returns the sign in payload if its hash shows that the holder of n made it.
func (n nonce) open(hash, payload []byte) (sign, bool) {
	sum := sha256.Sum256(append([]byte(n+":"), payload...))
	if subtle.ConstantTimeCompare(hash, []byte(hex.EncodeToString(sum[:]))) != 1 {
		return sign{}, false
	}
	text, err := base64.StdEncoding.AppendDecode(nil, payload)
	if err != nil {
		return sign{}, false
	}
	var s sign
	err = json.Unmarshal(text, &s)
	return s, err == nil
}

// find looks for the last true sign in output and returns it with its place. A forged one, which the team's
// code may print as it likes, is no sign but output.
func (n nonce) find(output []byte) (s sign, start, end int, ok bool) {
	for end := len(output); ; {
		start := bytes.LastIndex(output[:end], []byte(signWord))
		if start < 0 {
			return sign{}, 0, 0, false
		}
		line, _, whole := bytes.Cut(output[start+len(signWord):], []byte("\n"))
		hash, payload, _ := bytes.Cut(line, []byte(" "))
		if s, ok := n.open(hash, payload); ok && whole {
			return s, start, start + len(signWord) + len(line) + 1, true
		}
		end = start
	}
}

// greeting is what the bridge says at its start.
type greeting struct {
	pid    int
	php    string
	secret string
}

// helloWatch finds the hello in a stream of stderr, however it is cut into pieces.
type helloWatch struct {
	mark []byte // the word and the run's id
	rest []byte // the end of what was seen
}

func newHelloWatch(n nonce) helloWatch {
	return helloWatch{mark: []byte(helloWord + n.id() + " pid=")}
}

// see takes the next piece and returns the greeting once it is complete.
func (w *helloWatch) see(p []byte) (greeting, bool) {
	w.rest = append(w.rest, p...)
	if at := bytes.Index(w.rest, w.mark); at >= 0 {
		who, php, _ := bytes.Cut(w.rest[at+len(w.mark):], []byte(" php="))
		pid, secret, _ := bytes.Cut(who, []byte(" secret="))
		n, err := strconv.Atoi(string(pid))
		return greeting{pid: n, php: string(php[:wordLen(php)]), secret: string(secret)}, err == nil && len(php) > 0
	}
	w.rest = w.rest[max(0, len(w.rest)-len(w.mark)):]
	return greeting{}, false
}

// wordLen is the length of the word that p begins with: up to a blank or the "; " between FPM's messages.
func wordLen(p []byte) int {
	if n := bytes.IndexAny(p, "; \r\n"); n >= 0 {
		return n
	}
	return len(p)
}

// withoutHello takes the hello, and what PHP puts around it, out of stderr.
func (n nonce) withoutHello(text []byte) []byte {
	const label, glue = "PHP message: ", "; "
	before, after, ok := bytes.Cut(text, []byte(helloWord+n.id()))
	if !ok {
		return text
	}
	if at := bytes.Index(after, []byte(" php=")); at >= 0 {
		after = after[at+len(" php="):]
		after = after[wordLen(after):]
	}
	before = bytes.TrimSuffix(before, []byte(label))
	before = bytes.TrimSuffix(before, []byte(label+glue)) // the empty line that goes ahead of the hello
	if len(before) == 0 || bytes.HasSuffix(before, []byte(glue)) {
		after = bytes.TrimPrefix(after, []byte(glue))
	}
	return bytes.Join([][]byte{before, after}, nil)
}
