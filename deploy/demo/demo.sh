#!/usr/bin/env bash
# Shows the sidecar at work: a private redis-server and php-fpm in a temporary directory, 300 jobs from a PHP producer,
# and an account of where each one went. Exit code 0 when the account adds up.
#
#   make demo              runs and ends
#   make demo DEMO=stay    stays up until Ctrl-C
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
sidecar=$(cd "$here/../.." && pwd)/sidecar
stay=${DEMO:-}
pids=()

# PHP-FPM's user has to read it, also where the checkout lies in root's home: so everything it runs is copied there.
dir=$(mktemp -d "${TMPDIR:-/tmp}/sidecar-demo-XXXXXX")
chmod 755 "$dir"

# Stops what was started, last first, and only that.
# shellcheck disable=SC2317 # the trap calls it
cleanup() {
  trap - EXIT INT TERM
  local i
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
    kill -TERM "${pids[i]}" 2>/dev/null || true
    wait "${pids[i]}" 2>/dev/null || true
  done
  rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# start NAME COMMAND...: in a session of its own, or Ctrl-C would hit Redis and PHP-FPM before the sidecar is done.
start() {
  local name=$1
  shift
  setsid "$@" >"$dir/$name.log" 2>&1 </dev/null &
  pids+=("$!")
}

# await NAME COMMAND...: until the command succeeds, 10 s at most.
await() {
  local name=$1 i
  shift
  for ((i = 0; i < 200; i++)); do
    if "$@" >/dev/null 2>&1; then
      return
    fi
    sleep 0.05
  done
  echo "$name did not start:" >&2
  tail -n 20 "$dir/$name.log" >&2
  exit 1
}

fpm_binary() {
  local found
  found=$(compgen -G '/usr/sbin/php-fpm*' | sort -V | tail -n 1) || found=$(command -v php-fpm)
  echo "$found"
}

# The pool of a user with no rights of ours; without root PHP-FPM runs as whoever started it.
fpm_user() {
  if [ "$(id -u)" -eq 0 ]; then
    printf 'user = www-data\ngroup = www-data\n'
  fi
}

write_fpm_conf() {
  cat >"$dir/fpm.conf" <<END
[global]
error_log = $dir/fpm-error.log
daemonize = no
process_control_timeout = 10s
[demo]
$(fpm_user)
listen = $dir/fpm.sock
pm = static
pm.max_children = 4
env[DEMO_MARKS] = $dir/marks
END
}

write_sidecar_toml() {
  cat >"$dir/sidecar.toml" <<END
grace = "10s"

[redis]
url = "unix://$dir/redis.sock"

[admin]
listen = "$admin"

[fpm.default]
listen = "unix://$dir/fpm.sock"
children = 4
bridge_dir = "$dir/bridge"

[defaults]
retry = ["300ms", "700ms"] # production: 5s, 30s, 2m, 10m, 30m
max_crashes = 2

[topic.order_timeout]
call = "Shop\\\\Jobs\\\\OrderTimeout::handle"
bootstrap = "$dir/app/bootstrap.php"

[topic.mail]
script = "$dir/app/mail.php"
END
}

free_address() {
  php -r 'echo stream_socket_get_name(stream_socket_server("tcp://127.0.0.1:0"), false);'
}

tell_what_stays() {
  cat <<END

It stays up until Ctrl-C. Try, in another terminal:
  curl http://$admin/metrics
  curl http://$admin/readyz
  $sidecar status -c $dir/sidecar.toml
  $sidecar push mail '{"to":"you@example.com"}' --delay 3s -c $dir/sidecar.toml
  $sidecar try order_timeout '{"uuid":"t1","wish":"ok"}' -c $dir/sidecar.toml
  $sidecar replay mail --limit 3 --dry-run -c $dir/sidecar.toml
  redis-cli -s $dir/redis.sock lrange delay:dead:mail 0 0
  tail -f $dir/sidecar.log
END
}

admin=$(free_address)
mkdir -m 755 "$dir/bridge"
cp -R "$here/app" "$dir/app"
chmod -R u=rwX,go=rX "$dir/app"
install -m 666 /dev/null "$dir/marks"
write_fpm_conf
write_sidecar_toml

start redis redis-server --port 0 --unixsocket "$dir/redis.sock" --dir "$dir" --save '' --appendonly no
await redis redis-cli -s "$dir/redis.sock" ping
start php-fpm "$(fpm_binary)" --nodaemonize --fpm-config "$dir/fpm.conf"
await php-fpm test -S "$dir/fpm.sock"

php "$here/produce.php" "$dir/redis.sock" "$dir/ledger"
start sidecar "$sidecar" run -c "$dir/sidecar.toml"
sidecar_pid=${pids[-1]}

result=0
php "$here/watch.php" "$sidecar" "$dir" "$sidecar_pid" || result=$?
if [ "$result" -ne 0 ]; then
  echo "the sidecar's log ends:" >&2
  tail -n 30 "$dir/sidecar.log" >&2
fi
if [ "$stay" = stay ]; then
  trap 'exit "$result"' INT TERM
  tell_what_stays
  wait "$sidecar_pid" || result=$?
fi
exit "$result"
