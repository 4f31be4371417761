#!/usr/bin/env bash
# Benchmarks a base revision and the work tree alternately in one run, then benchstat: a machine's mood changes by
# the minute, so only samples that alternate can be compared.
#
#   bench-compare.sh REVISION [REGEXP]
#
# COUNT=10 samples each. BENCHSTAT is the pinned package.
set -euo pipefail

base=${1:?name the revision to compare with: make bench-compare BASE=main~1}
bench=${2:-.}
count=${COUNT:-10}
here=$PWD
tmp=$(mktemp -d)
cleanup() {
  git worktree remove --force "$tmp/base" 2>/dev/null || true
  rm -rf "$tmp"
}
trap cleanup EXIT

git worktree add --quiet --detach "$tmp/base" "$base"

# build TREE BINDIR: one test binary a package that has benchmarks, and beside it the package's directory.
build() {
  mkdir -p "$2"
  local package name
  while read -r package; do
    name=${package//\//_}
    (cd "$1" && go test -c -o "$2/$name.test" "./$package")
    echo "$1/$package" >"$2/$name.dir"
  done < <(cd "$1" && grep -rlE --include='*_test.go' '^func Benchmark' -- * | xargs -r -n 1 dirname | sort -u)
}

# sample BINDIR OUT: every benchmark once.
sample() {
  local binary
  for binary in "$1"/*.test; do
    (cd "$(cat "${binary%.test}.dir")" && "$binary" -test.run='^$' -test.bench="$bench" -test.benchmem) >>"$2"
  done
}

build "$tmp/base" "$tmp/base-bin"
build "$here" "$tmp/head-bin"
for ((i = 1; i <= count; i++)); do
  echo "sample $i of $count" >&2
  sample "$tmp/base-bin" "$tmp/base.txt"
  sample "$tmp/head-bin" "$tmp/head.txt"
done
go run "${BENCHSTAT:?}" "base=$tmp/base.txt" "head=$tmp/head.txt"
