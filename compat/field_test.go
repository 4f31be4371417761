package compat_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sidecar/compat"
)

// The tests here are cases from the field: public reports of queues that lost, doubled or mangled jobs, by number.

// fail returns the job of text after one failure, as it goes back to the pool.
func fail(t *testing.T, text string) compat.Job {
	t.Helper()
	job := parse(t, text)
	return job.WithTries(job.Tries() + 1).WithLastError("boom")
}

// wantKept checks that piece is in text and in every text the job goes through: a failure, dead, a replay.
func wantKept(t *testing.T, text string, pieces ...string) {
	t.Helper()
	failed := fail(t, text)
	record := compat.DeadRecord{Job: failed.Raw(), Error: "boom", At: "2024-05-01 12:34:56"}
	back, err := compat.ParseDeadRecord(record.Text())
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range pieces {
		for where, text := range map[string]string{
			"the text": text, "the failed job": failed.Raw(), "the dead record": record.Text(), "the replayed job": back.ReplayText("now"),
		} {
			if !strings.Contains(text, piece) {
				t.Errorf("%s has lost %s: %s", where, piece, text)
			}
		}
	}
}

func TestC01EmptyListsAndMapsStayWhatTheyAre(t *testing.T) {
	text := `{"uuid":"a1","topic":"mail","payload":{"ids":[],"opts":{}},"retry":0,"last_error":""}`
	wantKept(t, text, `"payload":{"ids":[],"opts":{}}`)
	wantText(t, "failed", fail(t, text).Raw(), `{"uuid":"a1","topic":"mail","payload":{"ids":[],"opts":{}},"retry":1,"last_error":"boom"}`)
}

func TestC03LargeIntegersKeepTheirDigits(t *testing.T) {
	payload := `"payload":{"order_id":130775545883395173,"max":9223372036854775807,"neg":-9223372036854775808,"more":18446744073709551615}`
	wantKept(t, `{"uuid":"a1",`+payload+`,"retry":0,"last_error":""}`, payload)
}

func TestC05FloatsKeepTheirText(t *testing.T) {
	payload := `"payload":{"p":277.199999999999989,"q":0.1,"r":10.0,"s":0.0,"t":0.460000000000000019984014443252817727625370025634765625}`
	wantKept(t, `{"uuid":"a1",`+payload+`,"retry":0}`, payload)
}

func TestC07MarkupIsNotEscaped(t *testing.T) {
	payload := `"payload":{"html":"<a href=\"/x?a=1&b=2\">t</a>","sig":"abc"}`
	wantKept(t, `{"uuid":"a1",`+payload+`,"retry":0}`, payload)
	wantText(t, "an error", string(compat.AppendPHPString(nil, "<a> & b")), `"<a> & b"`)
}

func TestC09EscapedAndRawEmojiStayApart(t *testing.T) {
	payload := `"payload":{"t":"\ud83d\ude00 ok","raw":"😀"}`
	text := `{"uuid":"e1",` + payload + `,"retry":0,"last_error":""}`
	wantKept(t, text, payload)
	failed := parse(t, text).WithLastError("no 😀 today")
	wantText(t, "last_error", failed.LastError(), "no 😀 today")
	wantText(t, "escaped last_error", parse(t, `{"last_error":"\ud83d\ude00"}`).LastError(), "😀")
}

func TestC11AnOddLayoutIsKept(t *testing.T) {
	text := `{ "topic" : "mail", "retry" : 0, "payload" : {"b":1,"a":2} , "uuid" : "k1", "last_error" : "" }`
	wantText(t, "raw", parse(t, text).Raw(), text)
	wantText(t, "failed", fail(t, text).Raw(),
		`{ "topic" : "mail", "retry" : 1, "payload" : {"b":1,"a":2} , "uuid" : "k1", "last_error" : "boom" }`)
}

func TestC13ObjectsThatLookLikeListsStayObjects(t *testing.T) {
	wantKept(t, `{"uuid":"a1","payload":{"0":"zero","1":"one"}}`, `"payload":{"0":"zero","1":"one"}`)
	wantKept(t, `{"uuid":"a1","payload":{"01":1,"1":2}}`, `"payload":{"01":1,"1":2}`)
}

func TestC14OddKeysSurviveInOrder(t *testing.T) {
	payload := `"payload":{"items":{"0":"a","2":"c"},"big":{"9223372036854775808":1,"-0":2,"":3}}`
	wantKept(t, `{"uuid":"a1",`+payload+`}`, payload)
}

func TestC15AnEmptyMapWrittenAsAListIsTaken(t *testing.T) {
	wantKept(t, `{"uuid":"e1","topic":"mail","payload":[],"retry":0,"last_error":""}`, `"payload":[]`)
}

func TestC17InvalidBytesComeBackExactly(t *testing.T) {
	text := "{\"uuid\":\"b1\",\"topic\":\"mail\",\"payload\":{\"name\":\"caf\xE9\"},\"retry\":0,\"last_error\":\"\"}"
	job := parse(t, text)
	if err := job.PHPError(); err == nil || !strings.Contains(err.Error(), "invalid UTF-8 at byte 50") {
		t.Errorf("PHP error is %v", err)
	}
	failed := fail(t, text)
	wantText(t, "failed", failed.Raw(), strings.Replace(strings.Replace(text, `"retry":0`, `"retry":1`, 1), `"last_error":""`, `"last_error":"boom"`, 1))
	record := compat.DeadRecord{Job: failed.Raw(), Error: "boom"}.Text()
	if !json.Valid([]byte(record)) || parse(t, record).PHPError() != nil || strings.Contains(record, "\uFFFD") {
		t.Errorf("record is %q", record)
	}
	if back, err := compat.ParseDeadRecord(record); err != nil || back.Job != failed.Raw() {
		t.Errorf("record reads as %q, %v", back.Job, err)
	}
}

func TestC19TheLastOfDuplicatesCounts(t *testing.T) {
	text := `{"uuid":"d1","topic":"mail","payload":{},"retry":0,"last_error":"","retry":4}`
	if tries := parse(t, text).Tries(); tries != 4 {
		t.Errorf("%d tries, PHP reads 4", tries)
	}
	wantText(t, "failed", fail(t, text).Raw(), `{"uuid":"d1","topic":"mail","payload":{},"retry":0,"last_error":"boom","retry":5}`)
	if tries := parse(t, `{"Retry":7,"RETRY":8}`).Tries(); tries != 0 {
		t.Errorf("%d tries from a name in another case", tries)
	}
}

func TestC21NothingIsCutAtANul(t *testing.T) {
	wantKept(t, `{"uuid":"n1","payload":{"\u0000x":1,"v":"a\u0000b"}}`, `{"\u0000x":1,"v":"a\u0000b"}`)
	job := parse(t, `{"uuid":"a\u0000b"}`).WithLastError("x\x00y")
	if job.UUID() != "a\x00b" || job.LastError() != "x\x00y" || job.PHPError() != nil {
		t.Errorf("uuid %q, last error %q, %v", job.UUID(), job.LastError(), job.PHPError())
	}
}

func TestC23ADeepJobIsAJobAndDiesWhole(t *testing.T) {
	text := `{"uuid":"deep","payload":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `,"retry":5}`
	job := parse(t, text)
	if err := job.PHPError(); err == nil || !strings.Contains(err.Error(), "nesting reaches 512 levels") {
		t.Errorf("PHP error is %v", err)
	}
	failed := fail(t, text).Raw()
	record := compat.DeadRecord{Job: failed}.Text()
	if parse(t, record).PHPError() != nil {
		t.Error("PHP cannot read the record")
	}
	if back, err := compat.ParseDeadRecord(record); err != nil || back.Job != failed {
		t.Errorf("record reads as %q, %v", back.Job, err)
	}
}

func TestC25AByteOrderMarkIsNamed(t *testing.T) {
	wantBuriedWhole(t, "\uFEFF"+`{"uuid":"a1"}`, "looks like JSON behind a byte order mark")
}

func TestC26TrailingSpaceIsLegalOtherBytesAreNot(t *testing.T) {
	const job = `{"uuid":"a1","retry":0}`
	for _, tail := range []string{"\n", "  \t", "\r\n"} {
		wantText(t, "raw", parse(t, job+tail).Raw(), job+tail)
		wantText(t, "failed", fail(t, job+tail).Raw(), `{"uuid":"a1","retry":1,"last_error":"boom"}`+tail)
	}
	wantBuriedWhole(t, job+"\b", "found byte 0x08 at byte 23, want nothing more")
	wantBuriedWhole(t, job+"\x00", "found byte 0x00 at byte 23, want nothing more")
}

func TestC27MembersThatAreNoJobSayWhatTheyAre(t *testing.T) {
	for text, reason := range map[string]string{
		`a:1:{s:4:"uuid";s:1:"z";}`: "looks like a PHP-serialized value (phpredis OPT_SERIALIZER)",
		"":                          "it ends at byte 0",
		"null":                      `found 'n' at byte 0, want '{'`,
		"42":                        `found '4' at byte 0, want '{'`,
		`"str"`:                     `found '"' at byte 0, want '{'`,
		"[]":                        "looks like a JSON array",
	} {
		wantBuriedWhole(t, text, reason)
	}
}

func TestC28ASerializedMemberNamesTheSerializer(t *testing.T) {
	wantBuriedWhole(t, `s:13:"{"uuid":"q1"}";`, "looks like a PHP-serialized value (phpredis OPT_SERIALIZER)")
	wantBuriedWhole(t, "\x00\x00\x00\x02\x11\x0d{\"uuid\":\"q1\"}", "looks like an igbinary value (phpredis OPT_SERIALIZER)")
}

func TestC30JSONInAJSONStringIsNotAnEmptyJob(t *testing.T) {
	wantBuriedWhole(t, `"{\"uuid\":\"j1\",\"topic\":\"mail\",\"payload\":{},\"retry\":0,\"last_error\":\"\"}"`, "looks like JSON in a JSON string")
}

func TestC32ACompressedMemberKeepsItsBytes(t *testing.T) {
	for _, v := range vectors(t, "members") {
		wantBuriedWhole(t, v["member"], "looks like")
	}
}

// wantBuriedWhole checks that text is no job, that the reason is told, and that dead gives the bytes back.
func wantBuriedWhole(t *testing.T, text, reason string) {
	t.Helper()
	_, err := compat.ParseJob(text)
	wantNotObject(t, text, err, reason)
	record := compat.DeadRecord{Job: text, Error: err.Error()}.Text()
	if !strings.HasPrefix(record, `{"job":{"sidecar_raw":"`) || !json.Valid([]byte(record)) {
		t.Errorf("record is %q", record)
	}
	back, err := compat.ParseDeadRecord(record)
	if err != nil || back.Job != text || back.ReplayText("now") != text {
		t.Errorf("record reads as %q, %v; it is replayed as %q, want %q", back.Job, err, back.ReplayText("now"), text)
	}
	wrapper := strings.TrimPrefix(record[:strings.Index(record, `,"error"`)], `{"job":`)
	if _, err := compat.ParseJob(wrapper); !errors.Is(err, compat.ErrWrapped) {
		t.Errorf("its wrapper met as a job: %v", err)
	}
}
