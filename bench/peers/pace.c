/* Runs a command again and again and says how long each run took: the peer of what is measured in Java.
 *
 *     pace COMMAND [ARG...]      reads lines "COUNT INTERVAL_MICROSECONDS" from standard input
 *
 * For each line it runs the command COUNT times, one every interval (0: back to back; -1: all at once), and prints the
 * nanoseconds from before fork to after waitpid, one run per line, then an empty line; of those that run all at once, from
 * before the first fork. A run that fails ends it with a message. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_until(long long at) {
    struct timespec t = {at / 1000000000LL, at % 1000000000LL};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

static pid_t start(char **argv, int null) {
    pid_t pid = fork();
    if (pid == 0) {
        dup2(null, 0);
        dup2(null, 1);
        execve(argv[0], argv, environ);
        perror(argv[0]);
        _exit(127);
    }
    return pid;
}

/* Waits for a process, or any (-1); nanoseconds from `from` to its end. */
static long long end(char **argv, pid_t pid, long long from) {
    int status;
    if (waitpid(pid, &status, 0) < 0) {
        perror("pace");
        exit(1);
    }
    long long took = now() - from;
    if (status != 0) {
        fprintf(stderr, "%s ended with status %d\n", argv[0], WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        exit(1);
    }
    return took;
}

static long long run(char **argv, int null) {
    long long from = now();
    pid_t pid = start(argv, null);
    if (pid < 0) {
        perror("pace");
        exit(1);
    }
    return end(argv, pid, from);
}

static void burst(long count, char **argv, int null) {
    long long from = now();
    for (long i = 0; i < count; i++) {
        if (start(argv, null) < 0) {
            perror("pace");
            exit(1);
        }
    }
    for (long i = 0; i < count; i++) printf("%lld\n", end(argv, -1, from));
}

int main(int argc, char **argv) {
    long count, interval;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (argc < 2 || argv[1][0] != '/' || null < 0) {
        fprintf(stderr, "usage: pace /ABSOLUTE/COMMAND [ARG...]\n");
        return 2;
    }
    while (scanf("%ld %ld", &count, &interval) == 2) {
        long long next = now();
        if (interval < 0) burst(count, argv + 1, null);
        for (long i = 0; i < count && interval >= 0; i++) {
            if (interval > 0) sleep_until(next);
            next += interval * 1000LL;
            printf("%lld\n", run(argv + 1, null));
        }
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
