#!/usr/bin/env bash
# bench/serve.sh RUN [SECONDS [RATE]]: `heed serve RUN` on loopback under RATE (60) predictions a second, a little fewer
# where answers take their time, for SECONDS (60), with malformed requests beside them. Prints the latencies of the predictions; fails unless every prediction is 200,
# every malformed request 4xx, and the server ends with 0. Needs wrk (Debian: wrk).
set -euo pipefail
cd "$(dirname "$0")/.."
run=${1:?a run directory} seconds=${2:-60} rate=${3:-60}
command -v wrk >/dev/null || { echo "bench/serve.sh: wrk is needed (Debian: wrk)" >&2; exit 2; }
out=$(mktemp -d); trap 'rm -rf "$out"' EXIT
build/heed serve "$run" --port 0 --threads 1 >"$out/address" & server=$!
until grep -qs http "$out/address"; do kill -0 $server; sleep 0.1; done
address=$(grep -o 'http://[^ ]*' "$out/address")
load() { CONNECTIONS=8 wrk -t 1 -c 8 -d "$seconds" --timeout 20 -s bench/serve.lua "$address" >"$1"; }
RATE=$rate WRONG=0 load "$out/good" & good=$!
RATE=10 WRONG=1 load "$out/bad" & bad=$!
wait $good; wait $bad
kill -TERM $server; wait $server
echo "predictions: $(grep '^{' "$out/good")"
echo "malformed:   $(grep '^{' "$out/bad")"
python3 - "$out" <<'PY'
import json, sys
good, bad = (json.loads(next(l for l in open(f"{sys.argv[1]}/{n}") if l.startswith("{"))) for n in ("good", "bad"))
assert good["not_2xx"] == 0 and good["broken"] == 0, "a prediction failed"
assert bad["not_2xx"] == bad["requests"], "a malformed request was accepted"
PY
