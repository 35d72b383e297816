# What the scripts share: where the tools are, whether a build is stale, and how to get what is missing.
# Sourced, with $root set to the checkout. POSIX sh.

say() { printf 'caisson: %s\n' "$*" >&2; }
fail() { say "$@"; exit 125; }

# Sources newer than the last good build of a part? A folder's own time tells of deleted files.
stale() {
    stamp=$root/build/$1.stamp
    [ -e "$stamp" ] || return 0
    case $1 in
    native) changed=$(find "$root/native" -name target -prune -o \( -type d -o -name '*.rs' -o -name '*.toml' -o -name '*.lock' \
        -o -name '*.proto' \) ! -path "$root/native" -newer "$stamp" -print -quit) ;;
    java) changed=$(find "$root/pom.xml" "$root/.mvn" "$root"/*/pom.xml "$root"/*/*/pom.xml "$root"/*/src/main "$root"/*/*/src/main \
        "$root/native/wire/proto" -newer "$stamp" -print -quit 2>/dev/null) ;;
    esac
    [ -n "$changed" ]
}

# The home of a user who called sudo: tools may be installed for that user alone.
caller_home() {
    [ -n "${SUDO_USER-}" ] || return 1
    getent passwd "$SUDO_USER" | cut -d: -f6
}

# Sets `feature` to the feature release of the Java in folder $1.
java_feature() {
    feature=0
    [ -x "$1/bin/java" ] || return 1
    if [ -r "$1/release" ]; then
        while IFS= read -r line; do
            case $line in JAVA_VERSION=*) feature=${line#*\"} ;; esac
        done <"$1/release"
    else
        feature=$("$1/bin/java" -version 2>&1 | sed -n '1s/[^"]*"//p')
    fi
    feature=${feature%%[!0-9]*}
    [ -n "$feature" ] || feature=0
}

usable_jdk() {
    java_feature "$1" && [ "$feature" -ge 25 ] && [ -x "$1/bin/javac" ]
}

# Sets `java_home` to a JDK 25 or newer; the one named by CAISSON_JAVA_HOME is used or refused.
find_jdk() {
    if [ -n "${CAISSON_JAVA_HOME-}" ]; then
        usable_jdk "$CAISSON_JAVA_HOME" || fail "CAISSON_JAVA_HOME=$CAISSON_JAVA_HOME is no JDK 25 or newer (with javac)."
        java_home=$CAISSON_JAVA_HOME
        return 0
    fi
    on_path=$(command -v java) || on_path=
    if [ -n "${JAVA_HOME-}" ] && usable_jdk "$JAVA_HOME"; then java_home=$JAVA_HOME && return 0; fi
    if [ -n "$on_path" ]; then
        on_path=$(readlink -f "$on_path")
        java_home=${on_path%/bin/java}
        if usable_jdk "$java_home"; then return 0; fi
    fi
    for java_home in /usr/lib/jvm/*25* /opt/*25* /opt/*/*25* /usr/local/*jdk*25* "${SDKMAN_DIR:-${HOME-}/.sdkman}"/candidates/java/25*; do
        if usable_jdk "$java_home"; then return 0; fi
    done
    if callers=$(caller_home); then
        for java_home in "$callers"/.sdkman/candidates/java/25* "$callers"/.jdks/*25*; do
            if usable_jdk "$java_home"; then return 0; fi
        done
    fi
    java_home=
    return 1
}

# True when version $1 (1.85.0) is at least $2 (1.85).
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# Puts cargo and rustc 1.85 or newer in front of PATH.
find_cargo() {
    callers=$(caller_home) || callers=
    for bin in "$(dirname "$(command -v cargo || echo /none/cargo)")" "${CARGO_HOME:-${HOME-}/.cargo}/bin" "$callers/.cargo/bin" /usr/lib/rust-1.*/bin; do
        [ -x "$bin/cargo" ] && [ -x "$bin/rustc" ] || continue
        version=$("$bin/rustc" --version 2>/dev/null | cut -d' ' -f2) || continue
        if [ -n "$version" ] && at_least "$version" 1.85; then
            case :$PATH: in *":$bin:"*) ;; *) PATH=$bin:$PATH ;; esac
            return 0
        fi
    done
    return 1
}

find_mvn() { command -v mvn >/dev/null; }
find_mkfs() { PATH=$PATH:/usr/sbin:/sbin command -v mke2fs >/dev/null; }

# Links a small static program, which is what the native parts are.
find_cc() {
    command -v cc >/dev/null && printf 'int main(void){return 0;}' | cc -static -x c -o /dev/null - 2>/dev/null
}

# Version that apt would install of package $1; fails when there is none.
apt_version() {
    apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v '^(none)$'
}

apt_first() {
    for package in "$@"; do
        if apt_version "$package" >/dev/null; then echo "$package" && return 0; fi
    done
    return 1
}

# The packages of a Rust that is new enough: some systems keep one beside the one called `rustc`.
apt_rust() {
    for suffix in '' -web $(apt-cache search --names-only '^rustc-1\.[0-9]+$' | sed 's/^rustc\(-[0-9.]*\).*/\1/' | sort -rV); do
        version=$(apt_version "rustc$suffix") || continue
        if at_least "${version%%[+~-]*}" 1.85 && apt_version "cargo$suffix" >/dev/null; then
            echo "rustc$suffix cargo$suffix"
            return 0
        fi
    done
    return 1
}

# Package names for tool $1.
apt_packages() {
    case $1 in
    jdk) apt_first openjdk-25-jdk-headless temurin-25-jdk zulu25-jdk-headless msopenjdk-25 ;;
    cargo) apt_rust ;;
    mvn) apt_first maven ;;
    cc) echo gcc libc6-dev ;;
    mkfs) echo e2fsprogs ;;
    esac
}

describe() {
    case $1 in
    jdk) echo "a JDK 25 (with javac): unpack one beneath /opt or /usr/lib/jvm, or set CAISSON_JAVA_HOME" ;;
    cargo) echo "cargo and rustc 1.85 or newer (with rustup: rustup update stable)" ;;
    mvn) echo "Apache Maven 3.8 or newer, as mvn on PATH" ;;
    cc) echo "a C compiler that links static programs (Debian: gcc libc6-dev; Fedora: gcc glibc-static)" ;;
    mkfs) echo "mke2fs (package e2fsprogs)" ;;
    esac
}

# Installs packages as root, quietly.
apt_install() {
    say "installing $*"
    mkdir -p "$root/build/log"
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >"$root/build/log/apt.log" 2>&1 || {
        tail -n 15 "$root/build/log/apt.log" >&2
        fail "apt-get could not install: $*"
    }
}

missing_tools() {
    missing=
    for tool in jdk cargo mvn cc mkfs; do
        "find_$tool" || missing="$missing $tool"
    done
}

# Finds all that a build needs, installs what is missing where that is possible, or says what to install.
need_tools() {
    missing_tools
    [ -n "$missing" ] || return 0
    if command -v apt-get >/dev/null; then
        if [ "$(id -u)" = 0 ] && ! collect_packages; then apt-get update >/dev/null 2>&1 || true; fi
        collect_packages || true
        if [ "$(id -u)" = 0 ] && [ -n "$packages" ]; then
            # shellcheck disable=SC2086  # package names are words
            apt_install $packages
            missing_tools
        fi
    fi
    [ -n "$missing" ] || return 0
    say "cannot build, this is missing:"
    for tool in $missing; do say "  - $(describe "$tool")"; done
    [ -z "${packages-}" ] || [ "$(id -u)" = 0 ] || say "apt has: sudo apt-get install$packages"
    exit 125
}

# Sets `packages` for what is in `missing`; fails when apt has no package for some of it.
collect_packages() {
    packages=
    complete=0
    for tool in $missing; do
        if found=$(apt_packages "$tool"); then packages="$packages $found"; else complete=1; fi
    done
    return $complete
}
