package encoding_test

import (
	"bufio"
	"encoding/base64"
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

// The bytes of a compression are its library's; those of a serializer are what PHP writes.
func TestASerializerWritesWhatPHPWrites(t *testing.T) {
	all := forms(t)
	seen := 0
	for _, v := range vectors(t, "encodings") {
		if _, ok := v["text"]; !ok || strings.Contains(v["form"], "+") || strings.ContainsAny(v["form"], "z") {
			continue
		}
		seen++
		if got, err := all[v["form"]].Encode(v["text"]); got != v["stored"] || err != nil {
			t.Errorf("%s, %s: got %q, %v, PHP writes %q", v["form"], v["case"], got, err, v["stored"])
		}
	}
	if seen < 30 {
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
	var lines []string
	for _, job := range longJobs() {
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
		if err != nil || form.String() != name || text != longJobs()[i/perJob] {
			t.Fatalf("text %d in %s: read as %s, %d bytes, %v", i/perJob, name, form, len(text), err)
		}
		again, err := form.Encode(text)
		if err != nil {
			t.Fatal(err)
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
