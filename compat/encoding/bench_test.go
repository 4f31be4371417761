package encoding_test

import (
	"strings"
	"testing"

	"sidecar/compat/encoding"
)

var benchJob = `{"uuid":"4f0c8e2e-0f5d-4f38-9f34-0a52a2f2f9d3","type":"order_timeout","order_id":100001,"created_at":1714559696123,` +
	`"retry":1,"body":{"user":4567,"amount":"99.00","items":[{"sku":"SKU-1","n":2}],"note":"订单超时"},"pad":"` + strings.Repeat("xyz-", 200) + `"}`

func BenchmarkDecode(b *testing.B) {
	for name, form := range forms(b) {
		stored, err := form.Encode(benchJob)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := encoding.Decode(stored, 1<<20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, form := range forms(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := form.Encode(benchJob); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestAPlainTextCostsNoAllocation(t *testing.T) {
	for _, text := range []string{benchJob, " " + benchJob, "\n" + benchJob} {
		n := testing.AllocsPerRun(100, func() {
			if _, _, err := encoding.Decode(text, 1); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%.10q…: %v allocations", text, n)
		}
	}
}
