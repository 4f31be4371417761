package queue

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

const hidden = "[hidden]"

// Secret is a password. Whatever prints, logs or encodes it as a value gets "[hidden]"; only a conversion to
// string yields it.
type Secret string

// String hides the secret.
func (s Secret) String() string { return hidden }

// GoString hides the secret.
func (s Secret) GoString() string { return hidden }

// Format hides the secret from every verb, those that ignore String too (%d, %x).
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalJSON hides the secret from encoding/json.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// RedactURL returns a Redis URL fit for logs and faults: whoever logs in, the options and whatever could be
// a piece of a badly escaped password are left out.
func RedactURL(raw string) string {
	u, err := url.Parse(raw)
	scheme, _, found := strings.Cut(raw, "://")
	if !found {
		return hidden
	}
	if err != nil || strings.Contains(u.Host+u.Path+u.RawQuery+u.Fragment, "@") {
		return scheme + "://" + hidden // an @ behind the host: a password with a bare / ? or # was cut apart
	}
	safe := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User == nil {
		return safe.String()
	}
	return strings.Replace(safe.String(), "://", "://"+hidden+"@", 1)
}
