#!/usr/bin/env bash
# Makes dist/caisson-VERSION-linux-ARCH.tar.gz, which needs neither Java nor Rust: a runtime with exactly the JDK modules
# that are used, the jars, the native parts and a cache of loaded classes.
set -euo pipefail
root=$(CDPATH='' cd "${0%/*}/.." && pwd -P)
. "$root/scripts/tools.sh"
"$root/scripts/build.sh"
find_jdk || fail "no JDK 25"
[ -x "$java_home/bin/jlink" ] || fail "$java_home has no jlink"

version=$(sed -n 's/.*<artifactId>caisson-parent<\/artifactId><version>\([^<]*\)<.*/\1/p' "$root/pom.xml" | head -n 1)
name=caisson-${version:-0}-linux-$(uname -m)
home=$root/dist/$name
rm -rf "$home"
mkdir -p "$home/bin"
cp "$root/caisson" "$home/bin/caisson"
cp -r "$root/build/lib" "$root/build/native" "$root/LICENSE" "$root/examples" "$home/"
rm -rf "$home/examples/agent/target"
chmod -R go+rX "$home"

say "linking the runtime"
# jdeps -s names for each jar what it needs; --print-module-deps stumbles over jars that are no modules.
modules=$("$java_home/bin/jdeps" -s --ignore-missing-deps --multi-release 25 --module-path "$home/lib" "$home"/lib/*.jar |
    awk '$NF ~ /^(java|jdk)\./ { print $NF }' | sort -u | paste -sd ,)
"$java_home/bin/jlink" --add-modules "$modules" --strip-debug --no-man-pages --no-header-files \
    --generate-cds-archive --output "$home/runtime"

# Trained with the work that is most common, once for `run` and once for `serve`, whose flags differ. Named by a hash over
# all jars: a JVM would run old classes from a stale one.
say "making the class caches"
hash=$(cat "$home"/lib/*.jar | sha256sum | cut -c 1-16)
train=$(mktemp -d)
chmod 711 "$train"
trap 'rm -rf "$train"' EXIT
options() { echo "-Dcaisson.training=true -XX:AOTCacheOutput=$home/lib/caisson-$1-$hash.aot"; }

training=(run --json --out "$train/out" "$home/examples/hello.sh")
[ "$(id -u)" = 0 ] || training=(help run)
CAISSON_JAVA_OPTS=$(options run) "$home/bin/caisson" "${training[@]}" >/dev/null 2>"$root/build/log/training.log" || true
[ -s "$home/lib/caisson-run-$hash.aot" ] || fail "the class cache could not be made, see build/log/training.log"

# A server with a launcher of its own, which ends by itself when it is idle.
train_server() {
    CAISSON_JAVA_OPTS=$(options serve) CAISSON_USER=root CAISSON_RUN=$train/run CAISSON_STATE=$train/state \
        "$home/bin/caisson" serve --listen 127.0.0.1:0 --data "$train/data" 2>"$root/build/log/training-serve.log" &
    server=$!
    for _ in $(seq 300); do
        url=$(sed -n 's/^caisson: Caisson listens on //p' "$root/build/log/training-serve.log")
        [ -z "$url" ] || break
        sleep 0.2
    done
    for _ in 1 2 3; do
        CAISSON_URL=$url CAISSON_API_KEY=$(cat "$train/data/admin.key") "$home/bin/caisson" run --json "$home/examples/hello.sh" >/dev/null || true
    done
    kill -TERM $server
    wait $server || true
}
if [ "$(id -u)" = 0 ]; then
    train_server
    [ -s "$home/lib/caisson-serve-$hash.aot" ] || fail "the class cache could not be made, see build/log/training-serve.log"
else
    say "no class cache for serve: that needs root"
fi

tar -C "$root/dist" --owner=0 --group=0 --sort=name -czf "$home.tar.gz" "$name"
say "made dist/$name.tar.gz ($(du -h "$home.tar.gz" | cut -f 1))"
