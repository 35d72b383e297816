# Sourced by the tests that run in the VM: counts what passes, and a cgroup of its own for each test.
PASSED=0 FAILED=0 SKIPPED=0
ROOT=/sys/fs/cgroup
PROBE=/tests/probe

check() { # check NAME EXPECTED ACTUAL; EXPECTED is a shell pattern
  case $3 in
    $2) PASSED=$((PASSED + 1)); echo "ok       $1" ;;
    *) FAILED=$((FAILED + 1)); echo "FAILED   $1: expected '$2', got '$3'" ;;
  esac
}

skip() { # skip NAME REASON
  SKIPPED=$((SKIPPED + 1)); echo "skipped  $1: $2"
}

tell() { echo "fact     $1: $2"; } # tell NAME VALUE: reported, neither right nor wrong

new_group() { # new_group NAME: makes the group G, in a parent that hands all controllers on
  mkdir -p $ROOT/test
  echo "+cpuset +cpu +io +memory +pids" >$ROOT/test/cgroup.subtree_control
  G=$ROOT/test/$1
  mkdir "$G"
}

within() { # within COMMAND…: runs it in G
  sh -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$G" "$@"
}

start() { # start COMMAND…: starts it in G and sets STARTED to its process id
  sh -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$G" "$@" &
  STARTED=$!
  wait_for 5 grep -qx $STARTED "$G/cgroup.procs"
}

event() { sed -n "s/^$2 //p" "$G/$1"; } # event FILE KEY

wait_for() { # wait_for SECONDS COMMAND…: until it succeeds
  tenths=$(($1 * 10)); shift
  until "$@"; do
    [ $tenths -gt 0 ] || return 1
    tenths=$((tenths - 1)); sleep 0.1
  done
}

empty() { [ "$(event cgroup.events populated)" = 0 ]; }

remove_group() { echo 1 >"$G/cgroup.kill"; wait_for 5 empty; rmdir "$G"; }

summary() {
  echo "vm: $PASSED passed, $FAILED failed, $SKIPPED skipped"
  [ $FAILED = 0 ]
}
