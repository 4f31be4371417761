#!/usr/bin/env bash
# Installs the sidecar from a built checkout or an unpacked release: both have the same layout.
#
#   install.sh install|uninstall
#
# PREFIX (/usr/local) holds bin/sidecar; the configuration goes to /etc/sidecar and is never overwritten, the unit to
# UNITDIR (/etc/systemd/system). DESTDIR is put before all of them. Nothing is started.
set -euo pipefail

verb=${1:-install}
prefix=${PREFIX:-/usr/local}
dest=${DESTDIR:-}
unitdir=${UNITDIR:-/etc/systemd/system}
root=$(cd "$(dirname "$0")/../.." && pwd)

binary=$dest$prefix/bin/sidecar
config=$dest/etc/sidecar/sidecar.toml
unit=$dest$unitdir/sidecar.service

# Only a real install on a machine that systemd runs has a daemon to tell.
reload_systemd() {
  if [ -z "$dest" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
  fi
}

install_all() {
  install -D -m 0755 "$root/sidecar" "$binary"
  install -d -m 0755 "$(dirname "$unit")"
  sed "s|/usr/local/bin/sidecar|$prefix/bin/sidecar|g" "$root/deploy/systemd/sidecar.service" >"$unit"
  chmod 0644 "$unit"
  install -D -m 0644 "$root/sidecar.toml" "$config.example"
  if [ -e "$config" ]; then
    echo "kept $config (the new one is beside it: $config.example)"
  else
    install -m 0644 "$root/sidecar.toml" "$config"
    echo "installed $config"
  fi
  reload_systemd
  cat <<END
installed $binary and $unit
next: edit $config, then
  $binary check -c $config
  systemctl enable --now sidecar
END
}

uninstall_all() {
  rm -f "$binary" "$unit" "$config.example"
  reload_systemd
  echo "removed $binary and $unit; $config stays"
}

case $verb in
  install) install_all ;;
  uninstall) uninstall_all ;;
  *) echo "install.sh: no verb \"$verb\": want install or uninstall" >&2; exit 2 ;;
esac
