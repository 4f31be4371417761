package compat_test

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // a slim image has no time zones

	"sidecar/compat"
	"sidecar/internal/testenv/wire"
)

func TestAFailedJobIsWhatTheOldConsumerMakesOfIt(t *testing.T) {
	checkFailures(t, vectors(t, "failures"))
	checkFailures(t, vectors(t, "random"))
}

func TestThousandsOfFreshJobsAgreeWithPHP(t *testing.T) {
	checkFailures(t, freshVectors(t, "random", "3000"))
}

// checkFailures walks each vector along the road of a job: failed, buried, read back, replayed.
func checkFailures(t *testing.T, all []wire.Vector) {
	t.Helper()
	for _, v := range all {
		job := parse(t, v["text"])
		if err := job.PHPError(); err != nil {
			t.Errorf("%s: PHP takes it, we say %v", v["case"], err)
		}
		if got, want := job.Tries(), v.Int(t, "tries"); got != want {
			t.Errorf("%s: %d tries, PHP counts %d", v["case"], got, want)
		}
		failed := job.WithTries(job.Tries() + 1).WithLastError(v["error"])
		wantText(t, v["case"]+": failed", failed.Raw(), v["failed"])

		record := compat.DeadRecord{Job: failed.Raw(), Error: v["error"], Trace: v["trace"], At: v["at"]}
		wantText(t, v["case"]+": dead", record.Text(), v["dead"])

		record.Trace = compat.Cut(record.Trace, compat.TraceLength)
		back, err := compat.ParseDeadRecord(v["dead"])
		if err != nil || back != record {
			t.Errorf("%s: PHP's record reads as %+v, %v, want %+v", v["case"], back, err, record)
		}
		wantText(t, v["case"]+": replayed", back.ReplayText(v["replayed at"]), v["replayed"])
	}
}

func TestACountIsReadAsPHPReadsIt(t *testing.T) {
	for _, v := range vectors(t, "counts") {
		want := v.Int(t, "int")
		if got := parse(t, `{"retry":`+v["value"]+`}`).Tries(); got != want {
			t.Errorf("retry %s is %d, PHP says %d", v["value"], got, want)
		}
		if got := parse(t, `{"crashes": `+v["value"]+` }`).Crashes(); got != want {
			t.Errorf("crashes %s is %d, PHP says %d", v["value"], got, want)
		}
	}
}

// A text that PHP takes as an object is a job for us. One that it refuses is no job, or a job with a reason why PHP does not take it.
func TestATextIsTakenAsPHPTakesIt(t *testing.T) {
	byGrammar := 0
	for _, v := range vectors(t, "texts") {
		job, err := compat.ParseJob(v["text"])
		taken := err == nil && job.PHPError() == nil
		switch {
		case err != nil && !errors.Is(err, compat.ErrNotObject):
			t.Errorf("%s: %v is no ErrNotObject", v["case"], err)
		case v["object"] == "no" && v["error"] == "" && err == nil:
			t.Errorf("%s: PHP finds no object, we took it", v["case"])
		case v["error"] != "" && taken:
			t.Errorf("%s: PHP says %s, we took it", v["case"], v["error"])
		case v["object"] == "yes" && !taken:
			t.Errorf("%s: PHP takes it, we say %v, %v", v["case"], err, job.PHPError())
		case taken && job.UUID() != v["uuid"]:
			t.Errorf("%s: uuid %q, PHP says %q", v["case"], job.UUID(), v["uuid"])
		case err == nil && job.PHPError() != nil:
			byGrammar++
			wantFault(t, v["case"], v["error"], job.PHPError())
		}
	}
	if byGrammar < 10 {
		t.Errorf("only %d texts that are jobs but nothing for PHP", byGrammar)
	}
}

// wantFault compares what PHP says is wrong with what we say.
func wantFault(t *testing.T, name, php string, got error) {
	t.Helper()
	ours := map[string]string{
		"Malformed UTF-8 characters, possibly incorrectly encoded": "invalid UTF-8",
		"Single unpaired UTF-16 surrogate in unicode escape":       "half a surrogate pair",
		"Maximum stack depth exceeded":                             "nesting reaches 512 levels",
	}
	if want, ok := ours[php]; !ok || !strings.Contains(got.Error(), want) {
		t.Errorf("%s: PHP says %q, we say %q", name, php, got)
	}
}

func TestAStringIsWrittenAndCutAsPHPDoesIt(t *testing.T) {
	checkStrings(t, vectors(t, "strings"))
}

func TestThousandsOfFreshStringsAgreeWithPHP(t *testing.T) {
	checkStrings(t, freshVectors(t, "strings", "5000"))
}

func checkStrings(t *testing.T, all []wire.Vector) {
	t.Helper()
	for _, v := range all {
		wantText(t, "json", string(compat.AppendPHPString(nil, v["string"])), v["json"])
		wantText(t, "first three", compat.Cut(v["string"], 3), v["first"])
	}
}

func TestKeysAndSlotsAreTheOnesOfPHPAndRedis(t *testing.T) {
	for _, v := range vectors(t, "keys") {
		keys := compat.NewDelayKeys(v["prefix"], v["topic"])
		got := map[string]string{
			"pool": keys.Pool, "ready": keys.Ready, "running": keys.Running, "dead": keys.Dead, "idem": keys.Idem(v["uuid"]),
		}
		for role, key := range got {
			wantText(t, role, key, v[role])
			if slot, want := compat.HashSlot(key), v.Int(t, role+" slot"); slot != want {
				t.Errorf("slot of %s is %d, Redis says %d", key, slot, want)
			}
		}
	}
}

func TestAMemberBehindASerializerOrACompressionIsNamed(t *testing.T) {
	want := map[string]string{
		"serializer PHP":      "looks like a PHP-serialized value (phpredis OPT_SERIALIZER)",
		"serializer IGBINARY": "looks like an igbinary value (phpredis OPT_SERIALIZER)",
		"serializer JSON":     "looks like JSON in a JSON string",
		"compression LZF":     "looks like an LZF-compressed value (phpredis OPT_COMPRESSION)",
		"compression ZSTD":    "looks like a zstd-compressed value (phpredis OPT_COMPRESSION)",
		"compression LZ4":     "looks like an LZ4-compressed value (phpredis OPT_COMPRESSION)",
		"gzencode":            "looks like a compressed value (gzencode or gzcompress)",
		"gzcompress":          "looks like a compressed value (gzencode or gzcompress)",
	}
	for _, v := range vectors(t, "members") {
		_, err := compat.ParseJob(v["member"])
		wantNotObject(t, v["setting"], err, want[v["setting"]])
	}
}

func TestAtIsWhatDatePrints(t *testing.T) {
	for _, v := range vectors(t, "dates") {
		zone, err := time.LoadLocation(v["zone"])
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, v["zone"], compat.FormatAt(time.Unix(int64(v.Int(t, "unix")), 0), zone), v["at"])
	}
}

// freshVectors has PHP make n vectors from a seed not used before.
func freshVectors(t *testing.T, group, n string) []wire.Vector {
	t.Helper()
	seed := strconv.Itoa(int(rand.Int32()))
	t.Logf("seed %s", seed)
	out, err := exec.CommandContext(t.Context(), "php", "../testdata/wire/make_vectors.php", group, seed, n).Output()
	if err != nil {
		t.Fatalf("make vectors: %v\n%s", err, out)
	}
	all, err := wire.Parse(string(out), wire.Keys()[group])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parse returns the job of text, which must be one.
func parse(t testing.TB, text string) compat.Job {
	t.Helper()
	job, err := compat.ParseJob(text)
	if err != nil {
		t.Fatalf("parse %.300q: %v", text, err)
	}
	return job
}

func wantText(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// wantNotObject checks that err is an ErrNotObject whose text has reason in it.
func wantNotObject(t testing.TB, what string, err error, reason string) {
	t.Helper()
	if !errors.Is(err, compat.ErrNotObject) || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: got %v, want an ErrNotObject that says %q", what, err, reason)
	}
}
