#!/usr/bin/env bash
# php -l on every PHP file. One that says it does not compile must not.
set -euo pipefail

mark='Does not compile.'
fail=0
while IFS= read -r -d '' file; do
  if out=$(php -l "$file" 2>&1); then
    if grep -q "$mark" "$file"; then
      echo "$file says \"$mark\" and is not"
      fail=1
    fi
  elif ! grep -q "$mark" "$file"; then
    echo "$out"
    fail=1
  fi
done < <(find php-client testdata deploy -name '*.php' -print0)
exit "$fail"
