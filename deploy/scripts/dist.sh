#!/usr/bin/env bash
# Builds dist/sidecar-VERSION-linux-{amd64,arm64}.tar.gz and SHA256SUMS. The same commit gives the same bytes.
#
#   dist.sh VERSION
set -euo pipefail

version=${1:?version}
out=$PWD/dist
files=(sidecar.toml README.md README.zh-CN.md LICENSE CHANGELOG.md CONTRIBUTING.md docs php-client/README.md php-client/bridge.php
  php-client/spool.php php-client/doctor.php
  deploy/systemd deploy/supervisor deploy/scripts/install.sh deploy/grafana deploy/prometheus
  deploy/docker deploy/kubernetes deploy/README.md)
when=$(git log -1 --format=%ct 2>/dev/null || date +%s)

rm -rf "$out"
mkdir -p "$out"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for arch in amd64 arm64; do
  name=sidecar-$version-linux-$arch
  mkdir -p "$tmp/$name"
  CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -buildvcs=false -trimpath \
    -ldflags "-s -w -X main.version=$version" -o "$tmp/$name/sidecar" .
  cp -R --parents "${files[@]}" "$tmp/$name/"
  tar -C "$tmp" --sort=name --mtime="@$when" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
done
(cd "$out" && sha256sum -- *.tar.gz >SHA256SUMS && cat SHA256SUMS)
