package encoding_test

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"sidecar/compat"
	"sidecar/compat/encoding"
)

func TestALimitIsTheLargestLengthThatIsTaken(t *testing.T) {
	job := `{"uuid":"a1","pad":"` + strings.Repeat("x", 9000) + `"}`
	for name, form := range forms(t) {
		stored, err := form.Encode(job)
		if err != nil {
			t.Fatal(err)
		}
		around := len(job) // what stands around a compressed text counts
		if serializer, _, ok := strings.Cut(name, "+"); ok {
			around = len(encode(t, forms(t)[serializer], job))
		}
		if text, _, err := encoding.Decode(stored, around); text != job || err != nil {
			t.Errorf("%s: %d bytes are too many for a limit of as many: %v", name, len(text), err)
		}
		text, got, err := encoding.Decode(stored, len(job)-1)
		if name == "plain" {
			if text != job || err != nil {
				t.Errorf("plain texts have no limit: %v", err)
			}
			continue
		}
		if err == nil || text != "" || got != (encoding.Form{}) || !strings.Contains(err.Error(), "decode_limit is 9021") {
			t.Errorf("%s: got %d bytes, %v", name, len(text), err)
		}
	}
}

func encode(t *testing.T, form encoding.Form, text string) string {
	t.Helper()
	stored, err := form.Encode(text)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// A few bytes that promise gigabytes must not get them.
func TestTheLimitHoldsBeforeMemoryIsTaken(t *testing.T) {
	const gigabyte = "\x00\x00\x00\x40"
	lz4 := string([]byte{compat.LZ4Check(gigabyte)}) + gigabyte + strings.Repeat("\xFF", 5<<20) // enough for it to be thinkable
	const small = 64 << 10
	if _, _, err := encoding.Decode(encode(t, forms(t)["zstd"], "{}"), small); err != nil { // the decoder's own buffers
		t.Fatal(err)
	}
	for name, stored := range map[string]string{
		"zstd that says 1 GB":            zstdFrame(true, 1<<30, 1),
		"zstd that says 2^63":            zstdFrame(true, 1<<63, 1),
		"zstd of 1000 blocks, no length": zstdFrame(false, 0, 1000),
		"zstd that says little":          zstdFrame(true, 100, 1000),
		"lz4":                            lz4,
		"lzf":                            "\x00{" + strings.Repeat("\xE0\xFF\x00", 1<<20),
		"igbinary":                       "\x00\x00\x00\x02\x13\x7F\xFF\xFF\xFF{",
		"msgpack":                        "\xDB\x7F\xFF\xFF\xFF{",
		"php":                            `s:2147483647:"{`,
	} {
		var text string
		var err error
		used := allocated(func() { text, _, err = encoding.Decode(stored, small) })
		if err == nil || text != "" {
			t.Errorf("%s: got %d bytes, %v", name, len(text), err)
		}
		if promises := strings.Contains(name, "1 GB") || strings.Contains(name, "blocks") || name == "lz4" || name == "lzf"; promises && !strings.Contains(err.Error(), "decode_limit is 65536") {
			t.Errorf("%s: %v", name, err)
		}
		if most := uint64(len(stored)) + 16*small; used > most {
			t.Errorf("%s: took %d bytes for %d stored ones and a limit of %d: %v", name, used, len(stored), small, err)
		}
	}
}

// zstdFrame returns a frame of n blocks, each 128 KB of one byte, in a window of 128 MB.
func zstdFrame(sized bool, size uint64, n int) string {
	const window = 17 << 3 // 2^27
	frame := []byte("\x28\xB5\x2F\xFD")
	if sized {
		frame = binary.LittleEndian.AppendUint64(append(frame, 3<<6, window), size)
	} else {
		frame = append(frame, 0, window)
	}
	for i := range n {
		head := uint32(128<<10)<<3 | 1<<1 // repeated
		if i == n-1 {
			head |= 1
		}
		frame = append(frame, byte(head), byte(head>>8), byte(head>>16), '{')
	}
	return string(frame)
}

// allocated returns how many bytes f takes from the heap.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
