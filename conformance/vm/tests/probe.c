// What the shell cannot ask the kernel for: one subcommand each, used by the tests beside this file. Static, so that it runs in any root.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/quota.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failed(const char *what) {
  printf("%s: %s\n", what, strerrorname_np(errno));
  return 1;
}

// Touches MIB mebibytes and says so, if it lives.
static int eat(char **arg) {
  size_t size = strtoul(arg[0], 0, 10) << 20;
  char *memory = malloc(size);
  if (!memory) return failed("malloc");
  for (size_t at = 0; at < size; at += 4096) ((volatile char *)memory)[at] = 1;
  puts("survived");
  return 0;
}

// Starts COUNT children that wait, tells how many it got and the error of the first that failed; then ends them.
static int fork_many(char **arg) {
  int wanted = atoi(arg[0]), made = 0, error = 0;
  pid_t *children = calloc(wanted, sizeof *children);
  for (; made < wanted; made++) {
    children[made] = fork();
    if (children[made] < 0) {
      error = errno;
      break;
    }
    if (children[made] == 0) {
      pause();
      _exit(0);
    }
  }
  for (int i = 0; i < made; i++) kill(children[i], SIGKILL);
  for (int i = 0; i < made; i++) waitpid(children[i], 0, 0);
  printf("%d %s\n", made, error ? strerrorname_np(error) : "all");
  return 0;
}

// Starts COMMAND… as a child that is born in the cgroup GROUP.
static int clone_into(char **arg) {
  int group = open(arg[0], O_DIRECTORY | O_CLOEXEC);
  if (group < 0) return failed("open");
  struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = group};
  long child = syscall(SYS_clone3, &args, sizeof args);
  if (child < 0) return failed("clone3");
  if (child == 0) {
    execvp(arg[1], arg + 1);
    _exit(127);
  }
  int status;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Gives FOLDER the project ID and limits the project to KIB kibibytes and INODES inodes.
static int project_quota(char **arg) {
  int folder = open(arg[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return failed("open");
  unsigned id = atoi(arg[1]);
  struct fsxattr attributes;
  if (ioctl(folder, FS_IOC_FSGETXATTR, &attributes)) return failed("FS_IOC_FSGETXATTR");
  attributes.fsx_projid = id;
  attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  if (ioctl(folder, FS_IOC_FSSETXATTR, &attributes)) return failed("FS_IOC_FSSETXATTR");
  struct if_dqblk limits = {.dqb_bhardlimit = strtoul(arg[2], 0, 10), .dqb_ihardlimit = strtoul(arg[3], 0, 10), .dqb_valid = QIF_LIMITS};
  if (syscall(SYS_quotactl_fd, folder, QCMD(Q_SETQUOTA, PRJQUOTA), id, &limits)) return failed("quotactl_fd");
  return 0;
}

// Mounts the tree SOURCE on TARGET with the ids of a user namespace that maps 0 to 100000.
static int idmap(char **arg) {
  int ready[2];
  char byte, path[64];
  if (pipe(ready)) return failed("pipe");
  pid_t holder = fork();
  if (holder == 0) {
    if (unshare(CLONE_NEWUSER)) _exit(1);
    (void)!write(ready[1], "x", 1);
    pause();
    _exit(0);
  }
  (void)!read(ready[0], &byte, 1);
  for (const char *map = "uid_map"; map; map = *map == 'u' ? "gid_map" : 0) {
    snprintf(path, sizeof path, "/proc/%d/%s", holder, map);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (write(file, "0 100000 65536", 14) != 14) return failed(map);
    close(file);
  }
  snprintf(path, sizeof path, "/proc/%d/ns/user", holder);
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = open(path, O_RDONLY | O_CLOEXEC)};
  int result = 0;
  int tree = syscall(SYS_open_tree, AT_FDCWD, arg[0], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (tree < 0) result = failed("open_tree");
  else if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes)) result = failed("mount_setattr");
  else if (syscall(SYS_move_mount, tree, "", AT_FDCWD, arg[1], MOVE_MOUNT_F_EMPTY_PATH)) result = failed("move_mount");
  kill(holder, SIGKILL);
  waitpid(holder, 0, 0);
  return result;
}

// Prints the uptime that a child sees in a time namespace whose boot clock starts at zero.
static int time_namespace(char **arg) {
  (void)arg;
  struct timespec now;
  if (unshare(CLONE_NEWTIME)) return failed("unshare");
  clock_gettime(CLOCK_BOOTTIME, &now);
  FILE *offsets = fopen("/proc/self/timens_offsets", "w");
  if (!offsets || fprintf(offsets, "boottime -%ld 0\n", (long)now.tv_sec) < 0 || fclose(offsets)) return failed("timens_offsets");
  pid_t child = fork();
  if (child == 0) {
    clock_gettime(CLOCK_BOOTTIME, &now);
    printf("%ld\n", (long)now.tv_sec);
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, 0, 0);
  return 0;
}

// Runs COMMAND… in a new cgroup namespace.
static int cgroup_namespace(char **arg) {
  if (unshare(CLONE_NEWCGROUP)) return failed("unshare");
  execvp(arg[0], arg);
  return failed("execvp");
}

static const struct {
  const char *name;
  int arguments;
  int (*run)(char **);
} commands[] = {
    {"eat", 1, eat},
    {"fork", 1, fork_many},
    {"clone-into", 2, clone_into},
    {"cgroup-namespace", 1, cgroup_namespace},
    {"project-quota", 4, project_quota},
    {"idmap", 2, idmap},
    {"time", 0, time_namespace},
};

int main(int count, char **arg) {
  for (size_t i = 0; count > 1 && i < sizeof commands / sizeof *commands; i++)
    if (!strcmp(arg[1], commands[i].name) && count - 2 >= commands[i].arguments) return commands[i].run(arg + 2);
  fputs("usage: probe COMMAND ARGUMENT…; see probe.c\n", stderr);
  return 2;
}
