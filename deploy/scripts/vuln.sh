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
log=$(mktemp)
trap 'rm -f "$log"' EXIT

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

# Prints the directory of a database made of the module's reports.
from_module() {
  local module=golang.org/x/vulndb version dir out
  version=$(cd /tmp && GOFLAGS=-mod=mod go list -m -f '{{.Version}}' "$module@latest") || return 3
  out=$PWD/.cache/vulndb/$version
  if [ ! -e "$out/index/modules.json" ]; then
    dir=$(cd /tmp && GOFLAGS=-mod=mod go mod download -json "$module@$version" | awk -F'"' '$2 == "Dir" { print $4 }') || return 3
    [ -n "$dir" ] || return 3
    go run "$module/cmd/indexdb@$version" -vulns "$dir/data/osv" -out "$out.part" >&2 || return 3
    rm -rf "$out"
    mv "$out.part" "$out"
  fi
  echo "$out"
}

if [ -n "${GOVULNDB:-}" ]; then
  against "$GOVULNDB" && exit 0 || code=$?
else
  against https://vuln.go.dev && exit 0 || code=$?
  if [ "$code" -eq 3 ]; then
    if dir=$(from_module 2>>"$log"); then
      against "file://$dir" && exit 0 || code=$?
    fi
  fi
fi
[ "$code" -eq 3 ] || exit 1
echo "NOT CHECKED for vulnerabilities: no database could be reached (GOVULNDB names another)"
[ -z "${VULN_REQUIRED:-}" ]
