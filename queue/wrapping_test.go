package queue_test

import (
	"encoding/base64"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sidecar/compat/encoding"
	"sidecar/queue"
)

// wrappings are the forms in which the phpredis of this machine stores texts.
func wrappings() []string {
	var names []string
	for _, serializer := range []string{"", "php", "json", "igbinary"} {
		for _, compression := range []string{"", "zstd", "lz4", "lzf"} {
			names = append(names, strings.Trim(serializer+"+"+compression, "+"))
		}
	}
	names[0] = "plain"
	return names
}

func auto(o *queue.Options) { o.Encoding = queue.EncodingAuto }

// wrappedJobs returns a short and a long job for each form, by the form's name and "long".
func wrappedJobs() (forms, texts []string) {
	for _, form := range wrappings() {
		for _, payload := range []string{`{"note":"订单 </b>","n":1.0}`, `{"pad":"` + strings.Repeat("abc-", 1000) + `"}`} {
			forms = append(forms, form)
			texts = append(texts, fmt.Sprintf(`{"uuid":"%s-%d","topic":"mail","payload":%s,"retry":0,"last_error":""}`, form, len(texts), payload))
		}
	}
	return forms, texts
}

// php runs a script of testdata/wire with a line for each form and text.
func php(t *testing.T, args, forms, texts []string) []string {
	t.Helper()
	var in strings.Builder
	for i := range texts {
		fmt.Fprintf(&in, "%s %s\n", forms[i], base64.StdEncoding.EncodeToString([]byte(texts[i])))
	}
	args[0] = "../testdata/wire/" + args[0]
	cmd := exec.CommandContext(t.Context(), "php", args...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(in.String()), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("php %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

// producer has phpredis push the texts to key, each with the options of its form, and returns what it stored.
func (b bench) producer(t *testing.T, key string, forms, texts []string) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(b.server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	php(t, []string{"client.php", host, port, "push", key}, forms, texts)
	stored, err := b.rdb.LRange(t.Context(), key, 0, -1).Result()
	if err != nil || len(stored) != len(texts) {
		t.Fatalf("%d of %d are stored, %v", len(stored), len(texts), err)
	}
	return stored
}

// unwrapped has phpredis read what is stored, each in the form that it is in, and returns the texts with the forms.
func unwrapped(t *testing.T, stored []string) (forms, texts []string) {
	t.Helper()
	forms = make([]string, len(stored))
	for i := range stored {
		_, form, err := encoding.Decode(stored[i], 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		forms[i] = form.String()
	}
	for _, answer := range php(t, []string{"phpredis.php", "unpack"}, forms, stored) {
		text, err := base64.StdEncoding.DecodeString(answer)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return forms, texts
}

// wantSame compares two lists as sets.
func wantSame(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %.3000q\nwant %.3000q", what, got, want)
	}
}

// each returns texts changed by old and new, and forms beside them, as "form text".
func each(forms, texts []string, old, new string) []string {
	list := make([]string, len(texts))
	for i := range texts {
		list[i] = forms[i] + " " + strings.Replace(texts[i], old, new, 1)
	}
	return list
}
