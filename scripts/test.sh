#!/usr/bin/env bash
# Runs every test and check: native (rustfmt, clippy, tests), Java (tests, Error Prone, NullAway, Spotless, Checkstyle,
# SpotBugs), the tarball. Says what was skipped and why, and ends with `N passed, N failed, N skipped`.
# As root nothing that the machine can do is skipped.
set -u
root=$(CDPATH='' cd "${0%/*}/.." && pwd -P)
. "$root/scripts/tools.sh"
cd "$root" || exit 125

running=
stop() {
    trap - INT TERM
    [ -z "$running" ] || kill -TERM "$running" 2>/dev/null
    wait
    exit 130
}
trap stop INT TERM

skips=()
failures=()
checks=0

# Runs a command in a process group of its own with a deadline, its output on the terminal and in a log.
# $1: name, $2: deadline, rest: command.
guarded() {
    local name=$1 deadline=$2 status
    shift 2
    say "$name"
    timeout --kill-after=30s "$deadline" "$@" > >(tee "build/log/$name.log") 2>&1 &
    running=$!
    wait "$running"
    status=$?
    running=
    [ $status != 124 ] || say "$name did not end within $deadline"
    return $status
}

# A check that counts as one test.
check() {
    if guarded "$@"; then checks=$((checks + 1)); else failures+=("$1"); fi
}

native() (cd native && exec "$@")
export -f native

need_tools
mkdir -p build/log
export JAVA_HOME=$java_home

# Native. A test that cannot run here prints a line `SKIPPED NAME: REASON` and returns; it is counted as skipped below.
if native cargo fmt --version >/dev/null 2>&1; then
    check rustfmt 5m bash -c 'native cargo fmt --all --check'
else
    skips+=("rustfmt: cargo fmt is not installed (rustup component add rustfmt)")
fi
if native cargo clippy --version >/dev/null 2>&1; then
    check clippy 15m bash -c 'native cargo clippy --locked --workspace --all-targets -- -D warnings'
else
    skips+=("clippy: cargo clippy is not installed (rustup component add clippy)")
fi
guarded cargo-test 20m bash -c 'native cargo test --locked --workspace --no-fail-fast -- --show-output' || cargo_status=failed

# The parts that the Java tests start.
check build 15m "$root/scripts/build.sh"

# Java.
# What build.sh compiled it compiled without checks, and Maven would not look at it again.
find . -path ./native -prune -o -type d -path '*/target/*' \( -name surefire-reports -o -name classes -o -name test-classes \
    -o -name maven-status \) -prune -print0 | xargs -0r rm -rf
guarded maven 40m mvn -B -fae -Dmaven.test.failure.ignore=true -Dcaisson.native.dir="$root/build/native" -Dcaisson.checkout="$root" \
    -Dcaisson.gateway.jars="$root/build/lib" verify || maven_status=failed

# Cgroup v2 alone, in a small VM.
guarded vm 15m "$root/scripts/test-vm.sh"
case $? in
0) ;;
77) skips+=("vm: $(sed -n 's/.*skipped: //p' build/log/vm.log | tail -n 1)") ;;
*) vm_status=failed ;;
esac

# The service as a person starts it.
guarded serve 5m "$root/scripts/test-serve.sh"
case $? in
0) checks=$((checks + 1)) ;;
77) skips+=("serve: $(sed -n 's/.*skipped: //p' build/log/serve.log | tail -n 1)") ;;
*) failures+=("serve") ;;
esac

# The service's API, fuzzed from its own document.
guarded api 15m "$root/scripts/test-api.sh"
case $? in
0) ;;
77) skips+=("api: $(sed -n 's/.*skipped: //p' build/log/api.log | tail -n 1)") ;;
*) api_status=failed ;;
esac

# The tarball.
if [ "$(id -u)" = 0 ]; then
    check tarball 10m "$root/scripts/test-package.sh"
else
    skips+=("tarball: needs root to hide Java and Rust")
fi

# Summary.
read -r rust_passed rust_failed rust_skipped < <(awk '
    /^test result:/ { for (i = 1; i < NF; i++) { if ($(i+1) == "passed;") p += $i; if ($(i+1) == "failed;") f += $i; if ($(i+1) == "ignored;") s += $i } }
    /^SKIPPED/ { s++; p-- }
    END { print p+0, f+0, s+0 }' build/log/cargo-test.log)
read -r java_passed java_failed java_skipped < <(find . -path ./native -prune -o -path '*/surefire-reports/TEST-*.xml' -print0 | xargs -0r cat | awk '
    function count(name) { return match($0, " " name "=\"[0-9]+\"") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) + 0 : 0 }
    /<testsuite / || suite { suite = 1; t += count("tests"); f += count("failures") + count("errors"); s += count("skipped"); if (/>/) suite = 0 }
    END { print t-f-s, f+0, s+0 }')
counts() { sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "build/log/$1.log" | tail -n 1 | grep . || echo 0 0 0; }
read -r vm_passed vm_failed vm_skipped < <(counts vm)
read -r api_passed api_failed api_skipped < <(counts api)
[ -z "${vm_status-}" ] || [ "$vm_failed" != 0 ] || failures+=("vm: did not run to its end, see build/log/vm.log")
[ -z "${api_status-}" ] || [ "$api_failed" != 0 ] || failures+=("api: did not run to its end, see build/log/api.log")
[ -z "${cargo_status-}" ] || [ "$rust_failed" != 0 ] || failures+=("cargo-test: did not run to its end")
[ -z "${maven_status-}" ] || [ "$java_failed" != 0 ] || failures+=("maven: a check failed, see build/log/maven.log")

printf '\n'
{
    sed -n 's/^test \(.*\) \.\.\. ignored\(, \)\?\(.*\)/\1: \3/p; s/^SKIPPED:\? \(.*\)/\1/p; s/^skipped \(.*\)/in part: \1/p' build/log/cargo-test.log
    find . -path ./native -prune -o -path '*/surefire-reports/TEST-*.xml' -print0 | xargs -0r cat | awk '
        /<testcase / { name = $0; sub(/.*<testcase[^>]* name="/, "", name); sub(/".*/, "", name); class = $0; sub(/.* classname="/, "", class); sub(/".*/, "", class) }
        /<skipped/ { why = "no reason given"; if (match($0, /message="[^"]*"/)) why = substr($0, RSTART + 9, RLENGTH - 10); print class "." name ": " why }'
    [ ${#skips[@]} = 0 ] || printf '%s\n' "${skips[@]}"
} | sed 's/&#10;/ /g; s/&quot;/"/g; s/&lt;/</g; s/&gt;/>/g; s/&apos;/'\''/g; s/&amp;/\&/g; s/^/skipped: /'
# Of each test that failed its name and the first lines of why, where a reader of the end of the output finds them.
find . -path ./native -prune -o -path '*/surefire-reports/*.txt' -print0 | xargs -0r awk '
    FNR == 1 { left = 0 }
    /<<< (FAILURE|ERROR)!/ && !/^Tests run:/ { left = 14; if (++told <= 20) print "failed: " $0; next }
    left > 0 && told <= 20 { left--; print "    " substr($0, 1, 300) }'
sed -n 's/^test \(.*\) \.\.\. FAILED$/failed: \1/p' build/log/cargo-test.log
[ ${#failures[@]} = 0 ] || printf 'failed: %s\n' "${failures[@]}"
passed=$((rust_passed + java_passed + vm_passed + api_passed + checks))
failed=$((rust_failed + java_failed + vm_failed + api_failed + ${#failures[@]}))
printf '%d passed, %d failed, %d skipped\n' $passed $failed $((rust_skipped + java_skipped + vm_skipped + api_skipped + ${#skips[@]}))
[ $failed = 0 ] && [ $passed -gt 0 ]
