# What the rest of Caisson asks this kernel for. Facts that another kernel may lack are told, not required.

test_root() {
  tell "kernel" "$(uname -r)"
  tell "root" "$(awk '$2 == "/" && $3 != "rootfs" {print $3, $4}' /proc/mounts)"
  check "a new mount namespace can pivot its root" "pivoted" "$(unshare -m sh -c '
    mount -t tmpfs none /mnt && mkdir /mnt/old /mnt/bin && cp /usr/bin/busybox /mnt/bin && cd /mnt && pivot_root . old && /bin/busybox echo pivoted' 2>&1)"
  check "user namespaces nest mount namespaces" "0" "$(unshare -U -r -m sh -c 'mount -t tmpfs none /mnt; echo $?' 2>&1)"
  tell "overlay in a user namespace" "$(unshare -U -r -m sh -c '
    mount -t tmpfs none /mnt && mkdir /mnt/up /mnt/work /mnt/all && mount -t overlay -o lowerdir=/usr,upperdir=/mnt/up,workdir=/mnt/work,userxattr none /mnt/all && ls /mnt/all/bin/busybox' 2>&1)"
  tell "overlay as root" "$(unshare -m sh -c '
    mount -t tmpfs none /mnt && mkdir /mnt/up /mnt/work /mnt/all && mount -t overlay -o lowerdir=/usr,upperdir=/mnt/up,workdir=/mnt/work none /mnt/all && ls /mnt/all/bin/busybox' 2>&1)"
  mkdir -p /idmapped
  tell "idmapped mount of /usr" "$(unshare -m sh -c "$PROBE idmap /usr /idmapped && stat -c 'owner %u' /idmapped/bin/busybox" 2>&1)"
  mkdir -p /run/plain
  tell "idmapped mount of a tmpfs" "$(unshare -m sh -c "$PROBE idmap /run/plain /idmapped && stat -c 'owner %u' /idmapped" 2>&1)"
}

test_namespaces() {
  check "a time namespace starts its boot clock anew" "[01]" "$($PROBE time)"
  check "an ipc namespace has a message queue file system" "0" "$(unshare -i -m sh -c 'mount -t mqueue none /mnt; echo $?' 2>&1)"
  tell "loop devices" "$(ls -d /sys/block/loop* | wc -l) at start, loop-control $([ -c /dev/loop-control ] && echo there || echo missing)"
  for limit in user/max_user_namespaces kernel/unprivileged_userns_clone kernel/pid_max vm/unprivileged_userfaultfd fs/aio-max-nr; do
    tell "$limit" "$(cat /proc/sys/$limit 2>/dev/null || echo none)"
  done
  tell "security modules" "$(mount -t securityfs s /sys/kernel/security; cat /sys/kernel/security/lsm)"
}

test_loop_image() {
  truncate -s 64M /loop.img
  /usr/sbin/mke2fs -q -t ext4 -O ^has_journal /loop.img
  mount -o loop /loop.img /mnt
  check "an ext4 image on a loop device is a capped layer" "*No space left*" "$(dd if=/dev/zero of=/mnt/full bs=1M 2>&1)"
  umount /mnt
  rm /loop.img
}

write_as() { # write_as USER FILE KIB: prints dd's words
  su "$1" -c "dd if=/dev/zero of=$2 bs=1k count=$3 2>&1"
}

overlay_write() { # overlay_write COMMAND…: writes 4 MiB to an overlay with its upper layer in /mnt/limited, mounted under COMMAND
  mkdir /mnt/limited/up /mnt/limited/work
  "$@" sh -c 'mount -t overlay -o lowerdir=/etc,upperdir=/mnt/limited/up,workdir=/mnt/limited/work,userxattr none /home &&
    dd if=/dev/zero of=/home/large bs=1k count=4096' 2>&1 | head -1
  rm -rf /mnt/limited/*
}

test_project_quota() { # test_project_quota NAME REFUSAL: on the file system at /mnt
  mkdir /mnt/limited /mnt/free
  chown user /mnt/limited /mnt/free
  check "$1 takes a project quota" "0" "$($PROBE project-quota /mnt/limited 7 1024 16; echo $?)"
  check "$1: statfs shows it" "1024" "$(($(stat -f -c '%b * %S' /mnt/limited) / 1024))"
  check "$1: a file within it" "*512+0 records out*" "$(write_as user /mnt/limited/small 512)"
  check "$1: a file beyond it is refused" "*$2*" "$(write_as user /mnt/limited/large 4096)"
  rm -f /mnt/limited/*
  check "$1: too many files are refused" "*$2*" "$(su user -c 'for i in $(seq 40); do : >/mnt/limited/$i || break; done' 2>&1)"
  rm -f /mnt/limited/*
  check "$1: outside the project nothing is limited" "*4096+0 records out*" "$(write_as user /mnt/free/large 4096)"
  # ext4 binds nobody with CAP_SYS_RESOURCE in the first user namespace (ignore_hardlimit in the kernel's fs/quota/dquot.c).
  # An overlay writes with the credentials of who mounted it, but without that capability (ovl_fill_super).
  tell "$1: root beyond a project quota" "$(write_as root /mnt/limited/large 4096 | head -1)"
  rm -f /mnt/limited/*
  check "$1: through an overlay that root mounted it is refused" "*$2*" "$(overlay_write unshare -m)"
  check "$1: through an overlay of a user namespace it is refused" "*$2*" "$(overlay_write unshare -U -r -m)"
  umount /mnt
}

test_disk() {
  if [ ! -b /dev/vda ] || grep -q '^/dev/vda / ' /proc/mounts; then skip "project quotas" "no --disk"; return; fi
  /usr/sbin/mke2fs -q -t ext4 -F -O quota,project /dev/vda
  mount -t ext4 -o prjquota /dev/vda /mnt && test_project_quota ext4 "Disk quota exceeded"
  if [ ! -x /usr/sbin/mkfs.xfs ]; then skip "xfs" "no mkfs.xfs on the host"; return; fi
  if ! grep -q xfs /proc/filesystems; then skip "xfs" "its module is not loaded"; return; fi
  /usr/sbin/mkfs.xfs -q -f /dev/vda
  mount -t xfs -o prjquota /dev/vda /mnt && test_project_quota xfs "No space left"
}

test_root
test_namespaces
test_loop_image
test_disk
