package encoding_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"sidecar/compat/encoding"
)

// forms returns every form by its name, as they are met in the vectors.
func forms(t testing.TB) map[string]encoding.Form {
	t.Helper()
	all := map[string]encoding.Form{"plain": {}}
	for _, v := range vectors(t, "encodings") {
		_, form, err := encoding.Decode(v["stored"], limit)
		if err != nil {
			t.Fatal(err)
		}
		all[form.String()] = form
	}
	return all
}

func TestFormsAreComparedAndNamed(t *testing.T) {
	all := forms(t)
	if len(all) != 20 {
		t.Errorf("%d forms: %v", len(all), all)
	}
	if all["plain"] != (encoding.Form{}) || all["igbinary+zstd"] == all["igbinary"] {
		t.Error("forms do not compare")
	}
}

// An old worker removes a job by the bytes that its own phpredis makes of the text: ours are the same, at PHP's default
// level of LZ4, and but for zstd, whose library is another one.
func TestWhatIsWrittenIsWhatPHPWrites(t *testing.T) {
	seen := 0
	for _, v := range vectors(t, "encodings") {
		if strings.HasSuffix(v["form"], "zstd") || strings.Contains(v["case"], "level") {
			continue
		}
		seen++
		text, form, err := encoding.Decode(v["stored"], limit)
		if err != nil {
			t.Fatal(err)
		}
		if got := encode(t, form, text); got != v["stored"] {
			t.Errorf("%s, %s: got %.200q, PHP writes %.200q", v["form"], v["case"], got, v["stored"])
		}
	}
	if seen < 120 {
		t.Errorf("%d texts", seen)
	}
}

// longJobs are texts at the lengths where heads grow, one that does not compress, and odd ones.
func longJobs() []string {
	jobs := []string{
		`{"uuid":"q1","topic":"mail","payload":{},"retry":0,"last_error":""}`,
		"{\"uuid\":\"订单\",\"note\":\"</b>&\\\"\\\\/\u2028\u2029'😀\u00e9\",\"n\":[1.0,-0]}\n",
		`{"uuid":"q2","payload":"` + strings.Repeat("abc", 2000) + `"}`,
		`{"uuid":"q3","payload":"` + base64.StdEncoding.EncodeToString([]byte(noise(3000))) + `"}`,
	}
	mixed := noise(50_000) // repetitions at every distance: words of a small vocabulary
	var words strings.Builder
	for i := 0; i+1 < len(mixed); i += 2 {
		fmt.Fprintf(&words, "%d-%c ", mixed[i]&0x3F, 'a'+mixed[i+1]&0x0F)
	}
	jobs = append(jobs, `{"uuid":"q5","payload":"`+words.String()+`"}`)
	for _, n := range []int{31, 32, 33, 63, 64, 127, 128, 255, 256, 257, 264, 8192, 65535, 65536, 300_000} {
		jobs = append(jobs, `{"uuid":"q4","pad":"`+strings.Repeat("x", n-22)+`"}`)
	}
	return jobs
}

// noise returns n bytes that do not compress, the same ones each time.
func noise(n int) string {
	state := uint32(2463534242)
	out := make([]byte, n)
	for i := range out {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		out[i] = byte(state >> 8)
	}
	return string(out)
}

// php has this machine's phpredis do mode to the lines, and returns its lines.
func php(t *testing.T, mode string, lines []string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "php", "../../testdata/wire/phpredis.php", mode)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("phpredis.php %s: %v", mode, err)
	}
	var answers []string
	scanner := bufio.NewScanner(strings.NewReader(string(out)))
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		answers = append(answers, scanner.Text())
	}
	return answers
}

// PHP writes, we read, we write, PHP reads: the text of the beginning.
func TestATextGoesToPHPAndBackInEveryForm(t *testing.T) {
	jobs := longJobs()
	var lines []string
	for _, job := range jobs {
		lines = append(lines, b64(job))
	}
	stored := php(t, "pack", lines)
	const perJob = 19
	if len(stored) != len(lines)*perJob {
		t.Fatalf("%d members of %d texts", len(stored), len(lines))
	}
	for i, line := range stored {
		name, data, _ := strings.Cut(line, " ")
		text, form, err := encoding.Decode(unb64(t, data), limit)
		if err != nil || form.String() != name || text != jobs[i/perJob] {
			t.Fatalf("text %d in %s: read as %s, %d bytes, %v", i/perJob, name, form, len(text), err)
		}
		again, err := form.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if b64(again) != data && !strings.HasSuffix(name, "zstd") {
			t.Errorf("text %d in %s: written as other bytes than PHP's", i/perJob, name)
		}
		stored[i] = name + " " + b64(again)
	}
	for i, answer := range php(t, "unpack", stored) {
		if answer != lines[i/perJob] {
			t.Errorf("text %d: PHP reads %.80q of %.80q", i/perJob, answer, stored[i])
		}
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func unb64(t *testing.T, s string) string {
	t.Helper()
	out, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestWhatTheJSONSerializerCannotHoldIsRefused(t *testing.T) {
	for name, form := range forms(t) {
		got, err := form.Encode("{\"a\":\"\xFF\"}")
		if refused := strings.HasPrefix(name, "json"); refused != (err != nil) || refused && got != "" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "encode as "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
