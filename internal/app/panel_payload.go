package app

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"sidecar/compat"
	"sidecar/internal/dash"
	"sidecar/internal/mask"
	"sidecar/queue"
)

// payloadMost is how much of a text is shown. Its masks see all of it.
const payloadMost = 256 << 10

// payload is a job's text for those who may see it, masked. What is stored stays as it is: this is a copy.
func (p *panel) payload(ctx context.Context, e queue.Entry) dash.Payload {
	d := dash.Payload{Size: len(e.Stored)}
	if !dash.Viewing(ctx).ShowPayload {
		return d
	}
	d.Shown = true
	masked := p.mask.JSON(e.Job)
	d.Masked = max(0, strings.Count(masked, mask.Hidden)-strings.Count(e.Job, mask.Hidden))
	var pretty bytes.Buffer
	if depthOf(masked) <= prettyDepth && json.Indent(&pretty, []byte(masked), "", "  ") == nil {
		d.Pretty = cut(compat.Readable(pretty.String()), &d.Cut)
	}
	d.Raw = cut(masked, &d.Cut)
	return d
}

// prettyDepth is how deep a text may be nested to be indented: ten thousand brackets would become two hundred megabytes.
const prettyDepth = 64

// depthOf returns how deep the brackets of a JSON text lie in each other, those in its strings included.
func depthOf(text string) (deepest int) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// calls finds what a line of PHP's trace says of a call.
var calls = regexp.MustCompile(`^(#\d+ .*?: [^(]*)\(.*$`)

// trace is a job's trace, masked. PHP writes into it what functions were called with, which is payload: for those who
// may not see that only the places are left.
func (p *panel) trace(ctx context.Context, text string) string {
	if dash.Viewing(ctx).ShowPayload {
		return p.mask.Text(text)
	}
	var out []string
	begun := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch call := calls.FindStringSubmatch(line); {
		case call != nil:
			line = call[1] + "(…)"
		case begun && !strings.HasPrefix(line, "#"):
			continue // an argument of several lines
		}
		begun = begun || strings.HasPrefix(line, "#")
		out = append(out, line)
	}
	return p.mask.Text(strings.Join(out, "\n"))
}

// cut returns what may be shown of a text, in UTF-8, and notes whether something is missing.
func cut(text string, isCut *bool) string {
	if len(text) > payloadMost {
		text, *isCut = text[:payloadMost], true
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
