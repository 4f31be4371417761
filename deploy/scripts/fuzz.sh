#!/usr/bin/env bash
# Runs every fuzz target of the module in turn: only one runs at a time.
#
#   fuzz.sh [TIME]
set -euo pipefail

time=${1:-10s}
count=0
work=$(mktemp -d)
log=$work/log
cache=$(go env GOCACHE)/fuzz/$(go list -m) # where go test keeps what it has found interesting
trap 'rm -rf "$work"' EXIT

# Go before 1.27 may report the end of -fuzztime itself as a failure (golang.org/issue/75804): that message alone, and no
# failing input written, as each true finding has one.
only_time_was_up() {
  grep -qE '^ +context deadline exceeded$' "$log" &&
    ! grep -qE 'Failing input|panic|_test\.go:[0-9]+' "$log"
}

# fuzz DIR TARGET...: each target of the package there. It is built once: linking takes longer than a short look.
fuzz() {
  local dir=$1 target
  shift
  go test -c -fuzz=. -o "$work/fuzz.test" "./$dir"
  for target in "$@"; do
    if ! (cd "$dir" && "$work/fuzz.test" -test.run='^$' -test.fuzz="^$target\$" -test.fuzztime="$time" \
      -test.fuzzcachedir="$cache/$dir") >"$log" 2>&1 && ! only_time_was_up; then
      cat "$log"
      exit 1
    fi
    echo "$target: $(tail -n 2 "$log" | head -n 1)"
    count=$((count + 1))
  done
}

targets=$(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed -E 's|^\./||; s|/[^/:]*:func | |' | sort)
while read -r dir; do
  # shellcheck disable=SC2046 # names of functions have no blanks
  fuzz "$dir" $(awk -v dir="$dir" '$1 == dir { print $2 }' <<<"$targets")
done < <(cut -d' ' -f1 <<<"$targets" | uniq)
echo "$count fuzz targets, $time each"
[ "$count" -gt 0 ]
