#!/usr/bin/env bash
# Runs every fuzz target of the module in turn: go test takes one at a time.
#
#   fuzz.sh [TIME]
set -euo pipefail

time=${1:-10s}
count=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Go before 1.27 may report the end of -fuzztime itself as a failure (golang.org/issue/75804): that message alone, and no
# failing input written, as each true finding has one.
only_time_was_up() {
  grep -qE '^ +context deadline exceeded$' "$log" &&
    ! grep -qE 'Failing input|panic|_test\.go:[0-9]+' "$log"
}

while IFS=: read -r file target; do
  if ! go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" "./$(dirname "$file")" >"$log" 2>&1; then
    if ! only_time_was_up; then
      cat "$log"
      exit 1
    fi
  fi
  tail -n 2 "$log"
  count=$((count + 1))
done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed 's|^\./||; s|func ||' | sort)
echo "$count fuzz targets, $time each"
[ "$count" -gt 0 ]
