#!/usr/bin/env bash
# Fuzzes the real service from its own OpenAPI document with schemathesis: no answer may be a defect (500), and each must be
# one that the document tells of. Ends with `N passed, N failed, N skipped`; exit code 77: skipped, the reason is printed.
#
#   API_EXAMPLES   generated requests per operation (default 10)
set -eu
root=$(CDPATH='' cd "${0%/*}/.." && pwd -P)
. "$root/scripts/tools.sh"
skip() { say "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "sandboxes need root"
command -v python3 >/dev/null || skip "python3 is not installed"
find_jdk || fail "no JDK 25"

venv=$root/build/schemathesis
if [ ! -x "$venv/bin/schemathesis" ]; then
    python3 -m venv "$venv" >/dev/null 2>&1 || skip "python3 cannot make a virtual environment (python3-venv)"
    timeout 300 "$venv/bin/pip" -q install schemathesis==4.32.5 >/dev/null 2>&1 || skip "schemathesis could not be installed with pip"
fi

work=$(mktemp -d)
chmod 755 "$work"
server=
launcher=
cleanup() {
    [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
    [ -z "$launcher" ] || { kill "$launcher" && wait "$launcher"; } 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 143' INT TERM

"$root/build/native/caisson-launcher" --socket "$work/launcher.sock" --agent "$root/build/native/caisson-agent" \
    --state "$work/state" --run "$work/run" >"$work/launcher.log" 2>&1 &
launcher=$!
waited=0
until "$root/build/native/caisson-launcher" --answers "$work/launcher.sock" 2>/dev/null; do
    waited=$((waited + 1))
    [ $waited -lt 300 ] || fail "the launcher does not start: $(tail -n 1 "$work/launcher.log")"
    sleep 0.1
done
class_path=$(printf '%s:' "$root"/build/lib/*.jar)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$java_home/bin/java" -XX:+UseSerialGC -Xmx512m --enable-native-access=ALL-UNNAMED -cp "$class_path" dev.caisson.cli.Main serve \
    --listen "127.0.0.1:$port" --data "$work/data" --launcher "$work/launcher.sock" >"$work/server.log" 2>&1 &
server=$!
python3 - "$port" "$work/data/admin.key" "$work/openapi.json" <<'E2' || { tail -n 20 "$work/server.log" >&2; fail "the server does not start"; }
import os, sys, time, urllib.request
port, key_file, target = sys.argv[1:]
for _ in range(600):
    try:
        with open(key_file) as file:
            key = file.read().strip()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/openapi.json", headers={"Authorization": f"Bearer {key}"})
        open(target, "wb").write(urllib.request.urlopen(request, timeout=5).read())
        sys.exit(0)
    except OSError:
        time.sleep(0.1)
sys.exit(1)
E2

# What a later work order brings answers 501, as it says; streams that never end are tested elsewhere.
status=0
cd "$work" # it leaves a cache where it runs
timeout 10m "$venv/bin/schemathesis" run "$work/openapi.json" --url "http://127.0.0.1:$port" \
    -H "Authorization: Bearer $(cat "$work/data/admin.key")" --max-examples "${API_EXAMPLES:-10}" --phases coverage,fuzzing \
    --checks status_code_conformance,content_type_conformance,response_schema_conformance \
    --exclude-path-regex '^/v1/(audit|secrets)|stream|terminal|/tcp|watch' --request-timeout 20 --continue-on-failure \
    --seed 4 --workers 2 >"$work/out" 2>&1 || status=$?
grep -aE '^(___|- ST|\[[0-9]|    curl)|Test cases|generated' "$work/out" | tail -n 60
defects=$(grep -ac 'level.*ERROR\|^[^ ]* ERROR' "$work/server.log" || true)
[ "$defects" = 0 ] || { grep ' ERROR' "$work/server.log" | head -n 20; status=1; }
cases=$(sed -n 's/^ *\([0-9]*\) generated.*/\1/p' "$work/out" | tail -n 1)
failed=$(sed -n 's/.*found \([0-9]*\) unique.*/\1/p' "$work/out" | tail -n 1)
operations=$(sed -n 's/^ *Tested: \([0-9]*\).*/\1/p' "$work/out" | tail -n 1)
[ -n "$operations" ] && [ "${cases:-0}" -gt 100 ] || { tail -n 30 "$work/out"; fail "schemathesis did not run to its end"; }
[ $status = 0 ] || failed=${failed:-1}
echo "$((operations - ${failed:-0})) passed, ${failed:-0} failed, 0 skipped"
[ $status = 0 ]
