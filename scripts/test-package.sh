#!/usr/bin/env bash
# Unpacks the tarball elsewhere and runs it where neither Java nor Rust nor Maven is to be found. Needs root.
set -euo pipefail
root=$(CDPATH='' cd "${0%/*}/.." && pwd -P)
"$root/scripts/package.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xzf "$(ls -t "$root"/dist/caisson-*.tar.gz | head -n 1)"
installed=$(echo "$work"/caisson-*)
mkdir "$work/empty"

hidden=(/usr/lib/jvm "$HOME/.cargo" "$HOME/.rustup" "$HOME/.m2" /usr/share/maven "$root")
# shellcheck disable=SC2016  # expanded inside
unshare --mount --propagation private bash -euo pipefail -c '
    installed=$1 empty=$2
    shift 2
    cd /
    for folder in "$@"; do [ ! -d "$folder" ] || mount --bind "$empty" "$folder"; done
    export PATH=/usr/sbin:/usr/bin:/sbin:/bin
    unset JAVA_HOME CAISSON_JAVA_HOME
    for tool in java mvn cargo rustc; do if command -v $tool; then echo "$tool is not hidden" >&2; exit 1; fi; done
    "$installed/bin/caisson" version
    "$installed/bin/caisson" run "$installed/examples/hello.sh" | grep "inside a sandbox"
    ln -s "$installed/bin/caisson" "$empty/../link"
    "$empty/../link" version >/dev/null
    start=$(date +%s%N)
    for _ in 1 2 3 4 5; do "$installed/bin/caisson" run "$installed/examples/hello.sh" >/dev/null; done
    echo "one run takes $((($(date +%s%N) - start) / 5000000)) ms"
' _ "$installed" "$work/empty" "${hidden[@]}"
