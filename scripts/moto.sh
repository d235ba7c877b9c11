#!/usr/bin/env bash
# A private S3 for tests: `scripts/moto.sh start FOLDER` prints its URL, `stop FOLDER` ends it.
# It listens on a free loopback port and keeps everything in memory. The server (PyPI's moto) is installed once, into a
# folder of the user's cache.
set -euo pipefail
action=${1:?start or stop}
folder=${2:?a folder}
version=5.2.5
home=${XDG_CACHE_HOME:-$HOME/.cache}/redrive/moto-$version

case $action in
start)
    if [ ! -e "$home/done" ]; then
        rm -rf "$home"
        python3 -m venv "$home" >&2
        "$home/bin/pip" install --quiet --disable-pip-version-check "moto[s3,server]==$version" >&2
        touch "$home/done"
    fi
    mkdir -p "$folder"
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$home/bin/moto_server" -H 127.0.0.1 -p "$port" >"$folder/moto.log" 2>&1 &
    echo $! >"$folder/moto.pid"
    for _ in $(seq 300); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "http://127.0.0.1:$port"
            exit 0
        fi
        kill -0 "$(cat "$folder/moto.pid")" 2>/dev/null || break
        sleep 0.1
    done
    cat "$folder/moto.log" >&2
    exit 1
    ;;
stop)
    kill "$(cat "$folder/moto.pid")"
    ;;
*)
    echo "start or stop, not $action" >&2
    exit 2
    ;;
esac
