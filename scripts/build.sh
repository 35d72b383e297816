#!/bin/sh
# Builds what changed into build/: native/ (launcher and agent) and lib/ (jars), without tests and checks.
# Several at once wait for one another. Quiet when there is nothing to do.
set -eu
root=$(CDPATH='' cd "${0%/*}/.." && pwd -P)
. "$root/scripts/tools.sh"

# A build that is started with sudo in a user's checkout runs as that user: no files of root are left in it.
if [ "$(id -u)" = 0 ] && [ "${SUDO_UID:-0}" != 0 ] && [ "$(stat -c %u "$root")" = "$SUDO_UID" ]; then
    need_tools
    exec runuser -u "$SUDO_USER" -- env HOME="$(caller_home)" PATH="$PATH" CAISSON_JAVA_HOME="$java_home" "$0" "$@"
fi

mkdir -p "$root/build/log" 2>/dev/null && [ -w "$root/build" ] || fail "cannot write to $root/build: build as the owner of this folder first."
exec 9>>"$root/build/lock"
flock 9

# Runs a step with its output in a log, and shows the end of the log when it fails. $1: name, rest: command.
step() {
    log=$root/build/log/$1.log
    shift
    if "$@" >"$log" 2>&1 9>&-; then return 0; fi
    tail -n 40 "$log" >&2
    fail "the build failed: $* (whole log: $log)"
}

# Copies files into a fresh folder and puts it in the place of build/$1; a running Caisson keeps the old files.
install_folder() {
    target=$root/build/$1
    shift
    rm -rf "$target.new" "$target.old"
    mkdir "$target.new"
    cp "$@" "$target.new/"
    [ ! -d "$target" ] || mv "$target" "$target.old"
    mv "$target.new" "$target"
    rm -rf "$target.old"
}

build_native() {
    say "building the native parts (the first time takes a minute or two)"
    triple=${CARGO_BUILD_TARGET:-$(uname -m)-unknown-linux-gnu}
    step native sh -c "cd '$root/native' && cargo build --release --locked --target '$triple' -p caisson-launcher -p caisson-agent"
    out=${CARGO_TARGET_DIR:-$root/native/target}/$triple/release
    install_folder native "$out/caisson-launcher" "$out/caisson-agent"
}

build_java() {
    say "building the Java parts"
    step java env JAVA_HOME="$java_home" mvn -q -B -f "$root/pom.xml" -Dquick -pl cli -am package
    # SQLite's native part out of its jar, which would unpack it into the temporary folder at each start.
    unpacked=$root/build/sqlite
    rm -rf "$unpacked"
    mkdir "$unpacked"
    (cd "$unpacked" && "$java_home/bin/jar" xf "$root"/cli/target/lib/sqlite-jdbc-*.jar "org/sqlite/native/Linux/$(uname -m)/libsqlitejdbc.so")
    install_folder lib "$root"/cli/target/lib/*.jar "$root"/cli/target/caisson-cli-*.jar \
        "$unpacked/org/sqlite/native/Linux/$(uname -m)/libsqlitejdbc.so"
    rm -rf "$unpacked"
}

for part in native java; do
    stale $part || continue
    [ -n "${java_home-}" ] || need_tools
    touch "$root/build/$part.stamp.new"
    "build_$part"
    mv "$root/build/$part.stamp.new" "$root/build/$part.stamp"
done
