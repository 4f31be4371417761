#!/bin/bash
# The release script in use today (CONTRACT 1.6), word for word but for the parameter. Usage: stop.sh [PID_FILE]
# shellcheck disable=SC2046
pid_file=${1:-/var/run/delay-consumer.pid}

kill -TERM $(cat "$pid_file")
for i in $(seq 1 30); do
  if ! kill -0 $(cat "$pid_file") 2>/dev/null; then
    echo "graceful exit in ${i}s"
    exit 0
  fi
  sleep 1
done
echo "force kill, rely on running reclaim"
kill -9 $(cat "$pid_file")
