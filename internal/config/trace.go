package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"sidecar/internal/trace"
	"sidecar/queue"
)

func traceFields(o *trace.Options, headersFile *string) []field {
	return []field{
		{"endpoint", text(&o.Endpoint)},
		{"headers_file", text(headersFile)},
		{"sample", share(&o.Sample)},
		{"service", text(&o.Service)},
	}
}

func (b *builder) buildTrace(t *table) {
	o := &b.cfg.Trace
	var headersFile string
	t.decode(traceFields(o, &headersFile))
	if headersFile != "" {
		b.readHeaders(t, headersFile)
	}
	t.faults(o.Validate())
}

// header is a line of a file of HTTP headers.
var header = regexp.MustCompile(`^([A-Za-z0-9!#$%&'*+.^_|~-]+):[ \t]*([\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?)$`)

// readHeaders reads the headers for the collector, whose values are secrets.
func (b *builder) readHeaders(t *table, file string) {
	if !filepath.IsAbs(file) {
		t.faults(fmt.Errorf("headers_file = %q: want an absolute path", file))
		return
	}
	data, err := readSmall(file)
	if err != nil {
		t.faults(fmt.Errorf("headers_file = %q: want a file that can be read: %w", file, err))
		return
	}
	b.exposed(t, "headers_file", file)
	b.cfg.Trace.Headers = map[string]queue.Secret{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		m := header.FindStringSubmatch(line)
		if m == nil {
			t.faults(fmt.Errorf("headers_file = %q: want a header a line, such as Authorization: Bearer …; line %d is none (it is not shown, it may be a secret)", file, n))
			return
		}
		b.cfg.Trace.Headers[m[1]] = queue.Secret(m[2])
	}
}
