#!/usr/bin/env bash
# A private Postgres for tests and benchmarks: `scripts/postgres.sh start FOLDER` prints its URL, `stop FOLDER` ends it,
# `crash FOLDER` ends it as a power cut would; `start` again goes on with the same data on the same port.
# It listens on a free loopback port, keeps fsync on, and runs as an unprivileged user because Postgres refuses root.
set -euo pipefail
action=${1:?start, stop or crash}
folder=${2:?a folder}
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || { echo "no Postgres found below /usr/lib/postgresql" >&2; exit 1; }

as_owner() {
    if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

case $action in
start)
    mkdir -p "$folder"
    [ "$(id -u)" != 0 ] || chown postgres "$folder"
    if [ ! -e "$folder/data" ]; then
        port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
        as_owner "$bin/initdb" -D "$folder/data" -U redrive --auth=trust --encoding=UTF8 --locale=C.UTF-8 >"$folder/initdb.log" 2>&1
        cat >>"$folder/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$folder'
max_connections = 300
shared_buffers = 256MB
max_wal_size = 2GB
CONF
    fi
    port=$(sed -n 's/^port = //p' "$folder/data/postgresql.conf")
    as_owner "$bin/pg_ctl" -D "$folder/data" -l "$folder/postgres.log" -w -t 60 start >/dev/null
    echo "postgres://redrive@127.0.0.1:$port/postgres"
    ;;
stop)
    as_owner "$bin/pg_ctl" -D "$folder/data" -m fast -w stop >/dev/null
    ;;
crash)
    as_owner "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null
    ;;
*)
    echo "start, stop or crash, not $action" >&2
    exit 2
    ;;
esac
