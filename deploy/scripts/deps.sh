#!/usr/bin/env bash
# Installs what is missing of the groups named, with apt (Debian, Ubuntu).
# Prints nothing and touches no network when all is there. promtool comes in Debian's package of Prometheus, which would
# start a server: only the tool is unpacked, into .cache.
#
#   deps.sh [test] [race] [lint]
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/../.."

missing=()
promtool=.cache/promtool/promtool
fetch_promtool=no

# need PACKAGE COMMAND...: the package is missing when the command fails.
need() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}

on_path() { command -v "$1"; }
has_fpm() { compgen -G '/usr/sbin/php-fpm*' || command -v php-fpm; } # Debian puts the version into the name
has_mariadbd() { [ -x /usr/sbin/mariadbd ] || command -v mariadbd; }
php_has() { php --ri "$1"; }
has_promtool() { command -v promtool || [ -x "$promtool" ]; }
has_chinese_font() { [ -n "$(fc-list :lang=zh family)" ]; }
has_headers() { gcc -E - <<<'#include <stdlib.h>'; }

need_test() {
  need redis-server on_path redis-server
  need php-cli on_path php
  need php-fpm has_fpm
  need php-redis php_has redis
  need php-msgpack php_has msgpack
  need php-mbstring php_has mbstring
  need php-sqlite3 php_has pdo_sqlite
  need php-mysql php_has pdo_mysql
  need mariadb-server-core has_mariadbd # the core has no service that would start by itself
  need mariadb-client-core on_path my_print_defaults
  need phpunit on_path phpunit
  need systemd on_path systemd-analyze
  need chromium on_path chromium
  need fonts-wqy-zenhei has_chinese_font
  need zsh on_path zsh # reads the completion meant for it; so does fish
  need fish on_path fish
  has_promtool >/dev/null 2>&1 || fetch_promtool=yes
}

need_race() {
  need gcc on_path gcc
  need libc6-dev has_headers
}

need_lint() {
  need lua5.1 on_path luac5.1
  need lua-check on_path luacheck
  need shellcheck on_path shellcheck
  need php-codesniffer on_path phpcs
}

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)

# want_apt WHAT...: there is apt-get, and its lists are new.
want_apt() {
  if ! command -v apt-get >/dev/null; then
    echo "needed and not found: $* (Debian's names; there is no apt-get here to install them)" >&2
    exit 1
  fi
  echo "installing $*" >&2
  "${as_root[@]}" apt-get update -q >&2
}

install_missing() {
  want_apt "${missing[@]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
}

unpack_promtool() {
  want_apt 'promtool (of prometheus)'
  local dir
  dir=$(mktemp -d)
  (cd "$dir" && apt-get download -q prometheus >&2 && dpkg-deb -x prometheus_*.deb .)
  mkdir -p "${promtool%/*}"
  mv "$dir/usr/bin/promtool" "$promtool"
  rm -rf "$dir"
}

for group in "$@"; do
  case $group in
    test | race | lint) "need_$group" ;;
    *) echo "deps.sh: no group \"$group\": want test, race, lint" >&2; exit 2 ;;
  esac
done
if [ ${#missing[@]} -gt 0 ]; then
  install_missing
fi
if [ "$fetch_promtool" = yes ]; then
  unpack_promtool
fi
if ! command -v go >/dev/null; then
  echo "go is not on the PATH: version $(awk '$1 == "go" { print $2 }' go.mod) or newer is needed" >&2
  exit 1
fi
