package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sidecar/internal/config"
	"sidecar/internal/doctor"
)

// A user without a right has as many findings as topics: what else there is must not drown in them.
func TestManyFindingsOfOneKindAreToldByAFew(t *testing.T) {
	var found []doctor.Finding
	for i := range 200 {
		found = append(found, doctor.Finding{ID: "key-rights", Level: doctor.Fault, Where: fmt.Sprintf("topic t%03d", i), Found: "no zadd"})
	}
	found = append(found, doctor.Finding{ID: "topic-unconfigured", Level: doctor.Note, Where: "topic evil\nFAULT", Found: "it has jobs"})
	var out bytes.Buffer
	printFindings(&out, &config.Config{Path: "sidecar.toml"}, found)
	text := out.String()
	if n := strings.Count(text, "(key-rights)\n"); n != wholeMost {
		t.Errorf("%d findings are told whole, want %d", n, wholeMost)
	}
	for _, want := range []string{"195 more of this kind (key-rights), from topic t005 to topic t199", `topic evil\nFAULT (topic-unconfigured)`, "200 faults, 0 warnings, 1 note"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}
