// Package doctor looks at the whole setting of a sidecar (Redis, the keys, PHP-FPM, PHP, this host, the configuration)
// and says what is wrong with it, why that matters and what to do about it.
//
// It works in two steps. What there is to know is gathered into [Facts], by bounded commands that read only; then each
// check goes from facts to findings and asks nobody. What could not be asked is a finding itself: silence means that
// all is well, never that nobody looked. docs/doctor.md lists every finding.
package doctor
