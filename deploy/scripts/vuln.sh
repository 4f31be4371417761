#!/usr/bin/env bash
# Looks for known vulnerabilities in what the sidecar is built from, as far as its code reaches them.
#
#   GOVULNCHECK='go run …/govulncheck@version' vuln.sh
#
# The database is, in this order: GOVULNDB where it is set; https://vuln.go.dev; the same reports as a Go module
# (golang.org/x/vulndb), for networks that reach a module proxy only. Exit code 1: something was found, or the check
# itself failed. Where no database can be reached nothing is checked: it says so, and fails only with VULN_REQUIRED=1,
# so that a machine without a network is not red for ever, and nobody takes it for green.
set -euo pipefail
cd "$(dirname "$0")/../.."

check=${GOVULNCHECK:?the command that runs govulncheck}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log

# Runs the check against a database; 3 where that cannot be read.
against() {
  echo "vulnerabilities, by $1"
  if $check -db "$1" ./... >"$log" 2>&1; then
    tail -n 3 "$log"
    return 0
  fi
  if grep -qE 'fetching vulnerabilities|no such host|connection refused|i/o timeout|Client\.Timeout' "$log"; then
    head -n 2 "$log"
    return 3
  fi
  cat "$log"
  return 1
}

# Prints the directory with the module's reports. Outside of our module: they are no dependency of it.
from_module() {
  local module=golang.org/x/vulndb
  cd "$work"
  go mod download -json "$module@$(go list -m -f '{{.Version}}' "$module@latest")" | awk -F'"' '$2 == "Dir" { print $4 "/data/osv" }'
}

if [ -n "${GOVULNDB:-}" ]; then
  against "$GOVULNDB" && exit 0 || code=$?
else
  against https://vuln.go.dev && exit 0 || code=$?
  if [ "$code" -eq 3 ]; then
    dir=$(from_module 2>/dev/null) || dir=
    if [ -d "$dir" ]; then
      against "file://$dir" && exit 0 || code=$?
    fi
  fi
fi
[ "$code" -eq 3 ] || exit 1
echo "NOT CHECKED for vulnerabilities: no database could be reached (GOVULNDB names another)"
[ -z "${VULN_REQUIRED:-}" ]
