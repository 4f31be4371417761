package trace

import (
	"errors"
	"fmt"
	"net/url"

	"sidecar/queue"
)

// Options are [trace], named as in the TOML file.
type Options struct {
	Endpoint string                  // endpoint: the collector's OTLP/HTTP address, "" = no traces
	Headers  map[string]queue.Secret // what headers_file holds: sent with every export
	Sample   float64                 // sample: the share of the jobs without a traceparent that begin a trace
	Service  string                  // service: this sidecar's name in the traces
}

// DefaultOptions returns the defaults of [trace]: off.
func DefaultOptions() Options { return Options{Sample: 1, Service: "sidecar"} }

// Validate reports every bad option at once. Each fault begins with the option's name in the TOML file.
func (o Options) Validate() error {
	var errs []error
	if fault := endpointFault(o.Endpoint); fault != "" {
		errs = append(errs, fmt.Errorf("endpoint: want %s", fault)) // not shown: there may be a login in it
	}
	if !(o.Sample >= 0 && o.Sample <= 1) { // not the other way round: NaN is neither
		errs = append(errs, fmt.Errorf("sample = %v: want a share from 0.0 to 1.0", o.Sample))
	}
	if o.Service == "" {
		errs = append(errs, errors.New(`service = "": want a name`))
	}
	return errors.Join(errs...)
}

// tracesPath is where a collector takes spans.
const tracesPath = "/v1/traces"

// endpointFault says what is wanted instead of endpoint, "" if nothing is wrong with it.
func endpointFault(endpoint string) string {
	if endpoint == "" {
		return ""
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return `an address such as "http://127.0.0.1:4318"`
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "an address without login, query and fragment: secrets are for headers_file"
	}
	return ""
}

// url is where spans are sent: the endpoint's own path, or the usual one where it has none.
func (o Options) url() string {
	u, err := url.Parse(o.Endpoint)
	if err != nil { // it was validated
		return o.Endpoint
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracesPath
	}
	return u.String()
}
