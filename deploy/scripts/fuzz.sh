#!/usr/bin/env bash
# Runs every fuzz target of the module in turn: go test takes one at a time.
#
#   fuzz.sh [TIME]
set -euo pipefail

time=${1:-10s}
count=0
while IFS=: read -r file target; do
  go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" "./$(dirname "$file")"
  count=$((count + 1))
done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed 's|^\./||; s|func ||' | sort)
echo "$count fuzz targets, $time each"
[ "$count" -gt 0 ]
