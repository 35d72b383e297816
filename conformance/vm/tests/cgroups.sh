# cgroup v2 as users have it: every limit that Caisson builds on, each with its control.

test_layout() {
  check "v2 alone is mounted" "cgroup2" "$(awk '$3 ~ /^cgroup/ {print $3}' /proc/mounts)"
  for controller in cpuset cpu io memory pids; do
    check "the root has the controller $controller" "* $controller *" " $(cat $ROOT/cgroup.controllers) "
  done
  check "the test runs in a service's group" "0::/system.slice/*.service" "$(cat /proc/self/cgroup)"
}

test_memory() {
  new_group memory
  check "without memory.max 64 MiB are there" "survived" "$(within $PROBE eat 64)"
  echo 32M >"$G/memory.max"
  check "memory.max kills" "137" "$(within $PROBE eat 64 >/dev/null; echo $?)"
  check "memory.events counts the kill" "1" "$(event memory.events oom_kill)"
  check "below memory.max nothing is killed" "survived" "$(within $PROBE eat 16)"
  check "memory.peak tells the most" "[1-9]*" "$(cat "$G/memory.peak")"
  remove_group
}

test_memory_oom_group() {
  new_group oom-group
  echo 32M >"$G/memory.max"
  start sleep 300
  bystander=$STARTED
  within $PROBE eat 64 >/dev/null
  check "without memory.oom.group the bystander lives" "0" "$(kill -0 $bystander; echo $?)"
  echo 1 >"$G/memory.oom.group"
  within $PROBE eat 64 >/dev/null
  wait $bystander
  check "with memory.oom.group it dies too" "137" "$?"
  check "memory.events counts the group" "1" "$(event memory.events oom_group_kill)"
  remove_group
}

test_pids() {
  new_group pids
  check "without pids.max 40 children start" "40 all" "$(within $PROBE fork 40)"
  echo 10 >"$G/pids.max"
  check "pids.max gives EAGAIN" "9 EAGAIN" "$(within $PROBE fork 40)"
  check "pids.events counts it" "1" "$(event pids.events max)"
  remove_group
}

test_cpu() {
  new_group cpu
  within timeout 2 sh -c 'while :; do :; done'
  check "without cpu.max nothing is throttled" "0" "$(event cpu.stat nr_throttled)"
  echo "20000 100000" >"$G/cpu.max"
  before=$(event cpu.stat usage_usec)
  within timeout 3 sh -c 'while :; do :; done'
  check "cpu.max throttles" "[1-9]*" "$(event cpu.stat nr_throttled)"
  used=$((($(event cpu.stat usage_usec) - before) / 1000))
  check "a fifth of 3 s is 400 to 900 ms (was $used)" "1" "$((used >= 400 && used <= 900))"
  remove_group
}

test_cpuset() {
  new_group cpuset
  echo 0 >"$G/cpuset.cpus"
  check "cpuset.cpus narrows the affinity" "0" "$(within sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)"
  remove_group
}

test_io() {
  if [ ! -b /dev/vda ] || grep -q '^/dev/vda / ' /proc/mounts; then skip "io.max slows a disk" "no --disk"; return; fi
  new_group io
  within dd if=/dev/zero of=/dev/vda bs=1M count=8 oflag=direct 2>/dev/null
  check "io.stat counts what was written" "*wbytes=8388608*" "$(cat "$G/io.stat")"
  echo "$(cat /sys/block/vda/dev) wbps=2097152" >"$G/io.max"
  start=$(cut -d. -f1 /proc/uptime)
  within dd if=/dev/zero of=/dev/vda bs=1M count=8 oflag=direct 2>/dev/null
  took=$(($(cut -d. -f1 /proc/uptime) - start))
  check "8 MiB at 2 MiB/s take 3 to 6 s (took $took)" "1" "$((took >= 3 && took <= 6))"
  remove_group
}

test_kill() {
  new_group kill
  start sh -c 'trap "" TERM INT; while :; do sleep 300; done'
  stubborn=$STARTED
  start sleep 300
  kill -TERM $stubborn
  echo 1 >"$G/cgroup.kill"
  check "cgroup.kill empties the group" "0" "$(wait_for 5 empty; echo $?)"
  wait $stubborn; check "a process that ignores SIGTERM dies of it" "137" "$?"
  rmdir "$G"
}

test_freeze() {
  new_group freeze
  start sh -c 'trap "" TERM; while :; do echo >>/run/ticks; done'
  busy=$STARTED
  start sleep 300
  idle=$STARTED
  echo 1 >"$G/cgroup.freeze"
  check "cgroup.freeze freezes" "0" "$(wait_for 5 grep -q '^frozen 1' "$G/cgroup.events"; echo $?)"
  ticks=$(wc -l </run/ticks); sleep 0.5
  check "a frozen process makes no step" "$ticks" "$(wc -l </run/ticks)"
  kill -TERM $busy; sleep 0.2
  check "a frozen process keeps a SIGTERM that it handles" "0" "$(kill -0 $busy; echo $?)"
  kill -KILL $busy; wait $busy
  check "a frozen process dies of SIGKILL" "137" "$?"
  echo 1 >"$G/cgroup.kill"; wait $idle
  check "a frozen process dies of cgroup.kill" "137" "$?"
  check "then the group is empty" "0" "$(wait_for 5 empty; echo $?)"
  rmdir "$G"
}

test_clone_into() {
  new_group clone
  check "CLONE_INTO_CGROUP starts a child in the group" "0::/test/clone" "$($PROBE clone-into "$G" cat /proc/self/cgroup)"
  check "an inner group takes no process" "clone3: EBUSY" "$($PROBE clone-into $ROOT/test true)"
  remove_group
}

test_namespace() {
  new_group namespace
  check "a cgroup namespace hides the path" "0::/" "$(within $PROBE cgroup-namespace cat /proc/self/cgroup)"
  remove_group
}

test_layout
test_memory
test_memory_oom_group
test_pids
test_cpu
test_cpuset
test_io
test_kill
test_freeze
test_clone_into
test_namespace
rmdir $ROOT/test
