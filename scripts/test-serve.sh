#!/usr/bin/env bash
# `caisson serve` as a person starts it, as root: drops to a user without privileges, the printed curl line works, a second
# start finds everything. Exit code 77: skipped, the reason is printed.
set -euo pipefail
root=$(CDPATH='' cd "${0%/*}/.." && pwd -P)
. "$root/scripts/tools.sh"
skip() { say "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "sandboxes need root"
command -v curl >/dev/null || skip "curl is not installed"
command -v setpriv >/dev/null || skip "setpriv is not installed"
find_jdk || fail "no JDK 25"
runuser -u nobody -- test -r "$root/build/lib" || skip "the user nobody may not read $root"

work=$(mktemp -d)
chmod 755 "$work"
export CAISSON_RUN=$work/run CAISSON_STATE=$work/state CAISSON_USER=nobody
server= made=
stop() {
    kill -TERM "$server"
    wait "$server" || true
    server=
}
cleanup() {
    [ -z "$server" ] || stop
    pkill -TERM -f "caisson-launcher --socket $work/run" || true
    for _ in $(seq 50); do pgrep -f "caisson-launcher --socket $work/run" >/dev/null || break; sleep 0.1; done
    [ -z "$made" ] || userdel "$made" || true
    rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 143' INT TERM

serve() {
    "$root/caisson" serve --listen 127.0.0.1:0 2>"$work/log" &
    server=$!
    for _ in $(seq 600); do
        ! grep -q '/v1/runs$' "$work/log" || break
        kill -0 "$server" 2>/dev/null || fail "it does not start: $(tail -n 3 "$work/log")"
        sleep 0.1
    done
    url=$(sed -n 's/^caisson: Caisson listens on //p' "$work/log")
    [ -n "$url" ] || fail "it tells no address: $(tail -n 3 "$work/log")"
}
status() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$server/status"; }
expect() { [ "$2" = "$3" ] || fail "$1: expected '$3', saw '$2'"; }

serve
expect "user" "$(status Uid | cut -f 1)" "$(id -u nobody)"
expect "effective capabilities" "$(status CapEff)" 0000000000000000
expect "capabilities that could be had" "$(status CapBnd)" 0000000000000000
expect "no new privileges" "$(status NoNewPrivs)" 1
expect "core dumps" "$(awk '/^Max core file size/ { print $5 }' "/proc/$server/limits")" 0
if "$java_home/bin/jcmd" "$server" VM.version >/dev/null 2>&1; then fail "a debugger may attach"; fi
expect "mode of the key file" "$(stat -c %a "$work/state/server/admin.key")" 600

# The two lines behind "Try:", as they are printed.
line=$(grep -A 2 '^caisson: Try:' "$work/log" | tail -n 2 | sed 's/^caisson: //')
answer=$(bash -c "${line/curl/curl -sS -m 60}")
[[ $answer == *'"42\n"'* ]] || fail "the printed curl line answers: $answer"

key=$(cat "$work/state/server/admin.key")
api() { curl -sS -m 60 -f -H "Authorization: Bearer $key" -H 'Content-Type: application/json' "$@"; }
sandbox=$(api -d '{"name":"kept"}' "$url/v1/sandboxes" | sed 's/^{"id":"\([a-z0-9]*\)".*/\1/')
exec=$(api -d '{"command":"echo before; sleep 600"}' "$url/v1/sandboxes/$sandbox/execs?mode=detach" | sed 's/^{"id":"\([a-z0-9]*\)".*/\1/')
stop
! kill -0 "$server" 2>/dev/null || fail "it does not stop"
serve
! grep -q 'first admin key' "$work/log" || fail "the second start made another key"
[[ $(api "$url/v1/sandboxes/kept") == *'"state":"running"'* ]] || fail "the sandbox is not there after a restart"
[[ $(api "$url/v1/execs/$exec") == *'"state":"running"'* ]] || fail "the command did not go on"
[[ $(api -X POST "$url/v1/execs/$exec/kill") == *before* ]] || fail "its output is lost"
api -X DELETE "$url/v1/sandboxes/kept" >/dev/null
stop

# A user that is not there yet is made, with a group of its own and no way to log in. Only one that this script made is deleted.
user=caisson-t$$
if command -v useradd >/dev/null && command -v userdel >/dev/null && ! id "$user" >/dev/null 2>&1 && ! getent group "$user" >/dev/null; then
    made=$user
    export CAISSON_RUN=$work/run-made CAISSON_STATE=$work/state-made CAISSON_USER=$user
    serve
    expect "user that was made" "$(status Uid | cut -f 1)" "$(id -u "$user")"
    expect "its group" "$(status Gid | cut -f 1)" "$(getent group "$user" | cut -d : -f 3)"
    expect "its shell" "$(getent passwd "$user" | cut -d : -f 7)" /usr/sbin/nologin
    expect "effective capabilities" "$(status CapEff)" 0000000000000000
    expect "owner of its data" "$(stat -c %U "$work/state-made/server")" "$user"
    key=$(cat "$work/state-made/server/admin.key")
    [[ $(api -d '{"command":"echo made"}' "$url/v1/runs") == *'made\n'* ]] || fail "nothing runs as the user that was made"
    stop
else
    say "not tried: making a user needs useradd, userdel and a free name"
fi
say "serve: drops, answers, and finds everything again"
