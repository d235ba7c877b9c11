#!/usr/bin/env bash
# A private mail server for tests: `scripts/smtp.sh start FOLDER` prints the folder, `stop FOLDER` ends it.
# It listens on free loopback ports (FOLDER/ports.json), has a certificate of its own (FOLDER/ca.pem) and writes what it takes to
# FOLDER/mails. How it answers is asked for by the names of senders and recipients; see smtp.py. The server (PyPI's aiosmtpd)
# is installed once, into a folder of the user's cache.
set -euo pipefail
action=${1:?start or stop}
folder=${2:?a folder}
version=1.4.6
home=${XDG_CACHE_HOME:-$HOME/.cache}/redrive/aiosmtpd-$version

certificate() { # an authority of our own, and a server that it knows by its name, not by its address
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=redrive tests" \
        -keyout "$folder/ca.key" -out "$folder/ca.pem" 2>>"$folder/openssl.log"
    openssl req -newkey rsa:2048 -nodes -subj "/CN=localhost" -keyout "$folder/server.key" -out "$folder/server.csr" 2>>"$folder/openssl.log"
    printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n' >"$folder/server.ext"
    openssl x509 -req -in "$folder/server.csr" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" -CAcreateserial \
        -days 30 -extfile "$folder/server.ext" -out "$folder/server.pem" 2>>"$folder/openssl.log"
}

case $action in
start)
    if [ ! -e "$home/done" ]; then
        rm -rf "$home"
        python3 -m venv "$home" >&2
        "$home/bin/pip" install --quiet --disable-pip-version-check "aiosmtpd==$version" >&2
        touch "$home/done"
    fi
    mkdir -p "$folder/mails"
    folder=$(cd "$folder" && pwd)
    certificate
    "$home/bin/python" "$(dirname "$0")/smtp.py" "$folder" >"$folder/smtp.log" 2>&1 &
    echo $! >"$folder/smtp.pid"
    for _ in $(seq 300); do
        if [ -e "$folder/ports.json" ]; then
            echo "$folder"
            exit 0
        fi
        kill -0 "$(cat "$folder/smtp.pid")" 2>/dev/null || break
        sleep 0.1
    done
    cat "$folder/smtp.log" >&2
    exit 1
    ;;
stop)
    kill "$(cat "$folder/smtp.pid")"
    ;;
*)
    echo "start or stop, not $action" >&2
    exit 2
    ;;
esac
