# Runs in the VM: the launcher's tests, with swap on, so that a program that could swap would.
export CAISSON_LAUNCHER=/tests/bin/caisson-launcher CAISSON_AGENT=/tests/bin/caisson-agent
PASSED=0 FAILED=0 SKIPPED=0

ok() { PASSED=$((PASSED + 1)); echo "ok       $1"; }
failed() { FAILED=$((FAILED + 1)); echo "FAILED   $1"; }

swap_on() {
  dd if=/dev/zero of=/swap bs=1M count=256 2>/dev/null
  chmod 600 /swap
  mkswap /swap >/dev/null && swapon /swap
}

# Without this the tests of memory limits would prove nothing about swap.
control_swap() {
  group=/sys/fs/cgroup/system.slice/control
  mkdir $group
  echo 48M >$group/memory.max
  if sh -c "echo 0 >$group/cgroup.procs; exec dd if=/dev/zero of=/dev/null bs=100M count=1 2>/dev/null"; then
    ok "control: what may swap lives beyond its memory limit"
  else
    failed "control: what may swap lives beyond its memory limit"
  fi
  rmdir $group
}

run_tests() { # run_tests NAME [FILTER…]: a test program, its result added to the sums
  echo "--- $* in $CAISSON_TEST_FOLDER, disks: $CAISSON_TEST_DISK"
  name=$1; shift
  # One by one: launchers with run folders of their own use the same project ids.
  "/tests/bin/test-$name" --test-threads=1 --nocapture "$@" 2>&1 | tee /run/log
  sums=$(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed; \([0-9]*\) ignored;.*/\1 \2 \3/p' /run/log)
  # The tests of the launcher skip themselves by a line, which must not happen here.
  if grep -q '^SKIPPED' /run/log; then failed "$name: a test skipped itself"; fi
  if [ -z "$sums" ]; then failed "$name did not come to its end"; return; fi
  # shellcheck disable=SC2086
  set -- $sums
  PASSED=$((PASSED + $1)) FAILED=$((FAILED + $2)) SKIPPED=$((SKIPPED + $3))
}

swap_on
control_swap
# The root is an ext4 with project quotas.
export CAISSON_TEST_FOLDER=/var/lib/caisson-tests CAISSON_TEST_DISK=project
mkdir -p $CAISSON_TEST_FOLDER
for name in limits ends life living; do run_tests $name; done
run_tests disks a_sandbox_starts what_a_sandbox_leaves a_frozen_sandbox a_volume what_one_user snapshots_that volumes_of
run_tests upgrade a_running_exec what_a_sandbox_has
# Elsewhere disks are images: an ext4 without quotas, an xfs.
export CAISSON_TEST_FOLDER=/mnt CAISSON_TEST_DISK=image
if /usr/sbin/mke2fs -q -t ext4 -F /dev/vda && mount -t ext4 /dev/vda /mnt; then
  run_tests limits full_disk
  run_tests ends disk
  run_tests disks a_sandbox_starts a_full_host
  umount /mnt
else
  failed "an ext4 without quotas"
fi
if [ -x /usr/sbin/mkfs.xfs ] && grep -q xfs /proc/filesystems; then
  /usr/sbin/mkfs.xfs -q -f /dev/vda && mount -t xfs -o prjquota /dev/vda /mnt && run_tests ends disk
else
  SKIPPED=$((SKIPPED + 1)); echo "skipped  images on xfs: no mkfs.xfs on the host"
fi
echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
[ $FAILED = 0 ] && [ $PASSED -gt 0 ]
