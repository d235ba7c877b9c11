#!/usr/bin/env bash
# Holds a real server to its OpenAPI document: `scripts/schemathesis.sh BINARY EXAMPLES` asks every operation, as an operator and as
# nobody, for so many examples each, good ones and bad ones, and fails on an answer with 5xx, or with a status, type, header or shape
# that the document does not have. Then, for a fifth of the examples, a server that has no folder of people (no INTAKE_URL).
# The tester (PyPI's schemathesis) is installed once, into a folder of the user's cache.
set -euo pipefail
binary=$(realpath "${1:?the binary}")
examples=${2:?how many examples}
here=$(realpath "$(dirname "$0")")
version=4.32.5
home=${XDG_CACHE_HOME:-$HOME/.cache}/redrive/schemathesis-$version
if [ ! -e "$home/done" ]; then
    rm -rf "$home"
    python3 -m venv "$home" >&2
    "$home/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version" >&2
    touch "$home/done"
fi

folder=$(mktemp -d)
server=
end() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    server=
}
trap 'end; rm -rf "$folder"' EXIT
cd "$folder"
token=schemathesis-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export SCHEMATHESIS_HOOKS=schemathesis_hooks PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1

# Starts a server with these settings besides, and says where it is in `url`.
# Port 9 is nobody's: no manifest that is made up here leads anywhere.
start() {
    : >out.log
    env -i PATH="$PATH" HOME="$folder" OPERATOR_TOKEN="$token" LISTEN=127.0.0.1:0 METRICS_LISTEN=127.0.0.1:0 \
        FETCH_PORTS=9 TRUSTED_PROXIES=127.0.0.1 RETRY_MAX_ATTEMPTS=1 LOG_FORMAT=json "$@" \
        "$binary" serve >out.log 2>err.log &
    server=$!
    url=
    for _ in $(seq 300); do
        url=$(sed -n 's/^redrive listening on //p' out.log)
        [ -z "$url" ] || break
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    [ -n "$url" ] || {
        cat out.log err.log >&2
        exit 1
    }
}

# The stream of events has no end, and wrong keys would lock everybody on this address out.
ask() {
    "$home/bin/schemathesis" run "$url/api/openapi.json" --url "$url" --max-examples "$examples" --seed "${SEED:-1}" \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance \
        --exclude-path /api/events/stream --exclude-path /sign-in --phases examples,coverage,fuzzing \
        --suppress-health-check all --generation-database none --request-timeout 30 --continue-on-failure --warnings off --no-color "$@"
}
lives() {
    kill -0 "$server" || {
        tail -50 err.log >&2
        echo "the server has ended" >&2
        exit 1
    }
}
failed=0
mkdir people
start DATA_DIR="$folder/data" INTAKE_URL="file://$folder/people" INTAKE_MAX_RETRIES=0
REDRIVE_KNOWN=$(python3 "$here/schemathesis_seed.py" "$url" "$token" "$folder/people")
export REDRIVE_KNOWN
ask -H "Authorization: Bearer $token" || failed=1
ask || failed=1
lives
end

examples=$(((examples + 4) / 5))
unset REDRIVE_KNOWN
start DATA_DIR="$folder/bare"
ask -H "Authorization: Bearer $token" || failed=1
lives
exit $failed
