package compat_test

import (
	"fmt"
	"strings"
	"testing"

	"sidecar/compat"
)

// benchJob is a job as the producers of the field write them, padded to size bytes.
func benchJob(size int) string {
	job := `{"uuid":"4f0c8e2e-0f5d-4f38-9f34-0a52a2f2f9d3","type":"order_timeout","order_id":100001,"created_at":1714559696123,` +
		`"retry":1,"body":{"user":4567,"amount":"99.00","items":[{"sku":"SKU-1","n":2}],"note":"订单超时"},"pad":"`
	return job + strings.Repeat("x", max(0, size-len(job)-2)) + `"}`
}

// benchDense is a job of many small values, which is the most work a byte.
func benchDense(size int) string {
	entry := `{"id":17,"sku":"SKU-17","price":21.25,"tags":["a","b","c"]}`
	return `{"uuid":"a1","rows":[` + strings.Repeat(entry+",", size/len(entry)) + entry + `],"retry":0}`
}

func BenchmarkParseJob(b *testing.B) {
	for name, text := range map[string]string{
		"300B": benchJob(300), "4KB": benchJob(4096), "4KB/dense": benchDense(4096),
		"4KB/chinese": `{"uuid":"a1","note":"` + strings.Repeat("订单超时", 340) + `"}`,
		"20MB":        benchJob(20 << 20),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := compat.ParseJob(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPatch(b *testing.B) {
	for _, size := range []int{300, 4096} {
		job := parse(b, benchJob(size))
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				job.WithTries(job.Tries() + 1).WithLastError("connect to /run/db.sock: 拒绝")
			}
		})
	}
}

func BenchmarkDeadRecord(b *testing.B) {
	record := compat.DeadRecord{
		Job: benchJob(300), Error: "connect to /run/db.sock: 拒绝", Trace: strings.Repeat("#0 /srv/shop/jobs/Order.php(12)\n", 20),
		At: "2024-05-01 12:34:56",
	}
	text := record.Text()
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			record.Text()
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := compat.ParseDeadRecord(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
